#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A source that is not there makes no snapshot by itself, and is named beside others.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
echo x >"$src/file"
expect 0 "$CAIRN" init
status=0
"$CAIRN" backup "$work/absent" >out 2>err || status=$?
[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status"
grep -q absent err || fail "it is not named"
status=0
"$CAIRN" backup "$src" "$work/absent" >out 2>err || status=$?
[ "$status" = 1 ] || [ "$status" = 3 ] || fail "exit status $status with another path beside it"
grep -q absent err || fail "it is not named beside another path"
