#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A backup that is killed leaves a repository that needs no repair.
. "$(dirname "$0")/lib.sh"

mkdir "$src" "$work/small"
echo x >"$work/small/file"
head -c 60M /dev/urandom >"$src/big"
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup "$work/small"
for delay in 0.02 0.05 0.1 0.15 0.2; do
    "$CAIRN" backup --force "$src" >out 2>err &
    pid=$!
    sleep "$delay"
    kill -s KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    expect 0 "$CAIRN" check --read-data
    expect 0 "$CAIRN" cat "latest:$work/small/file" --path "$work/small"
done
expect 0 "$CAIRN" backup "$src"
expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
