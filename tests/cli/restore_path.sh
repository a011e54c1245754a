#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A path of a snapshot is restored: the contents of a directory, or one file.
. "$(dirname "$0")/lib.sh"

make_backup
expect 0 "$CAIRN" restore "latest:$src/dir" --target "$work/dir"
diff -r --no-dereference "$src/dir" dir || fail "the directory differs"
expect 0 "$CAIRN" restore "latest:$src/dir/numbers" --target "$work/file"
cmp "$src/dir/numbers" file/numbers || fail "the file differs"
[ "$(ls file)" = numbers ] || fail "more than the file was restored"
expect 0 "$CAIRN" restore "latest:$src//dir/" --target "$work/slashes"
diff -r --no-dereference "$src/dir" slashes || fail "more slashes, another result"
expect 1 "$CAIRN" restore "latest:/not/there" --target "$work/none"
says '/not/there'
