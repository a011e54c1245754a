#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A damaged or removed log entry is refused, by check as damage, by others with the entry's name.
. "$(dirname "$0")/lib.sh"

make_backup
last=$(find "$CAIRN_REPO/log" -type f | sort | tail -n 1)
cp "$last" saved
flip "$last" $(($(stat -c %s "$last") / 2))
expect 4 "$CAIRN" check
says 'log'
expect 1 "$CAIRN" snapshots
says 'log'
expect 1 "$CAIRN" backup "$src"
cp saved "$last"
expect 0 "$CAIRN" check
first=$(find "$CAIRN_REPO/log" -type f | sort | head -n 1)
mv "$first" first
status=0
"$CAIRN" snapshots >out 2>err || status=$?
[ "$status" = 1 ] || fail "exit status $status without the first entry"
mv first "$first"
expect 0 "$CAIRN" snapshots
