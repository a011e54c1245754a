#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A reader that goes away ends a listing quietly; a full disk under the output does not.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
(cd "$src" && seq -f 'a-file-with-a-rather-long-name-%06g' 1 5000 | xargs touch)
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup "$src"
for command in "ls -R latest" "ls -lR latest" "ls -R --json latest"; do
    # shellcheck disable=SC2086
    { status=0 && "$CAIRN" $command 2>err || status=$?; echo "$status" >status; } | head -n 1 >/dev/null
    [ ! -s err ] || fail "it complains: $command"
    [ "$(cat status)" = 141 ] || fail "exit status $(cat status): $command"
done
[ -w /dev/full ] || skip "there is no /dev/full"
status=0
"$CAIRN" ls -R latest >/dev/full 2>err || status=$?
[ "$status" = 1 ] || fail "exit status $status on a full disk"
says 'No space left'
