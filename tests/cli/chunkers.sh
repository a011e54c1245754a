#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every cipher, chunker and sync level makes a repository that gives everything back.
. "$(dirname "$0")/lib.sh"

make_tree "$src"
n=0
for options in "--encryption chacha20-poly1305" "--chunker fixed --chunk-size 64K" \
    "--chunk-size 64K --sync-level none" "--sync-level metadata" "--sync-level file"; do
    n=$((n + 1))
    export CAIRN_REPO=$work/repo$n
    # shellcheck disable=SC2086
    expect 0 "$CAIRN" init $options
    expect 0 "$CAIRN" backup "$src"
    expect 0 "$CAIRN" check --read-data
    expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored$n"
    same "$src" "$work/restored$n"
done
