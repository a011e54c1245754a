#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A prefix that fits several snapshots is refused; a unique one and the whole id work.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
expect 0 "$CAIRN" init
# 17 ids share a first digit at the latest.
for i in $(seq 1 17); do
    echo "$i" >"$src/file"
    expect 0 "$CAIRN" backup --sync-level none "$src"
done
expect 0 "$CAIRN" snapshots --json
grep -o '"id":"[0-9a-f]*"' out | cut -d '"' -f 4 >ids
[ "$(wc -l <ids)" = 17 ] || fail "not 17 snapshots"
shared=$(cut -c 1 ids | sort | uniq -d | head -n 1)
expect 2 "$CAIRN" ls "$shared"
says 'more digits'
expect 2 "$CAIRN" restore "$shared" --target "$work/target"
[ ! -e target ] || fail "something was restored"
id=$(sed -n 5p ids)
expect 0 "$CAIRN" cat "$id:$src/file"
[ "$(cat out)" = 5 ] || fail "the whole id gave another snapshot"
expect 0 "$CAIRN" cat "$(cut -c 1-20 <<<"$id"):$src/file"
[ "$(cat out)" = 5 ] || fail "the prefix gave another snapshot"
expect 1 "$CAIRN" ls 0123456789abcdef0123
says 'no snapshot'
