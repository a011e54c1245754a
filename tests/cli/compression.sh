#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every compression setting gives everything back; what compresses is stored smaller.
. "$(dirname "$0")/lib.sh"

need_python
mkdir "$src"
seq 1 300000 >"$src/numbers"
for mode in auto off 1 19; do
    export CAIRN_REPO=$work/repo-$mode
    expect 0 "$CAIRN" init
    expect 0 "$CAIRN" backup --json --compression "$mode" "$src"
    field data_added_packed <out >"stored-$mode"
    expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored-$mode"
    same "$src" "$work/restored-$mode"
done
[ "$(cat stored-auto)" -lt $(($(cat stored-off) * 2 / 3)) ] || fail "auto does not compress"
[ "$(cat stored-19)" -lt "$(cat stored-1)" ] || fail "19 is not smaller than 1"
