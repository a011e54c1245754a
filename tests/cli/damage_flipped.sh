#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A flipped byte anywhere is found by check --read-data and is never given out as content.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
head -c 200000 /dev/urandom >"$src/random"
seq 1 20000 >"$src/numbers"
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup "$src"
cp -a "$CAIRN_REPO" good
find good -type f -not -path '*/tmp/*' | sed 's|^good/||' | sort >objects
while read -r object <&3; do
    size=$(stat -c %s "good/$object")
    for offset in 0 40 $((size / 3)) $((size / 2)) $((size - 40)) $((size - 1)); do
        [ "$offset" -ge 0 ] || continue
        flip "$CAIRN_REPO/$object" "$offset"
        status=0
        "$CAIRN" check --read-data >out 2>err || status=$?
        [ "$status" != 0 ] || fail "$object with byte $offset of $size flipped passes"
        [ "$status" -lt 124 ] || fail "exit status $status: $object with byte $offset flipped"
        for file in random numbers; do
            if "$CAIRN" cat "latest:$src/$file" >out 2>err; then
                cmp out "$src/$file" || fail "wrong bytes: $object with byte $offset flipped"
            fi
        done
        cp -a "good/$object" "$CAIRN_REPO/$object"
    done
done 3<objects
expect 0 "$CAIRN" check --read-data
