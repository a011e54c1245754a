#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Snapshots are listed by host, tag, path and number.
. "$(dirname "$0")/lib.sh"

mkdir one two
echo 1 >one/f
echo 2 >two/f
expect 0 "$CAIRN" init
expect 0 "$CAIRN" snapshots
grep -q '^0 snapshots' out || fail "a new repository has snapshots"
expect 1 "$CAIRN" ls latest
expect 0 "$CAIRN" backup "$work/one" --tag daily --tag weekly --host alpha
expect 0 "$CAIRN" backup "$work/two" --host beta
expect 0 "$CAIRN" backup "$work/one" "$work/two" --tag daily
count() {
    expect 0 "$CAIRN" snapshots "$@"
    tail -n 1 out
}
[ "$(count)" = '3 snapshots' ] || fail "not 3"
[ "$(count --host alpha)" = '1 snapshot' ] || fail "not 1 of alpha"
[ "$(count --tag daily)" = '2 snapshots' ] || fail "not 2 daily"
[ "$(count --path "$work/two")" = '2 snapshots' ] || fail "not 2 of two"
[ "$(count --latest 1)" = '1 snapshot' ] || fail "not 1 latest"
[ "$(count --tag none)" = '0 snapshots' ] || fail "not 0"
expect 0 "$CAIRN" cat --host alpha "latest:$work/one/f"
[ "$(cat out)" = 1 ] || fail "latest of alpha"
