#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A second backup of an unchanged tree stores no content; a changed file, only its own.
. "$(dirname "$0")/lib.sh"

need_python
make_backup
expect 0 "$CAIRN" backup --json "$src"
# The folders above the source are in the snapshot too, and this test changes them.
[ "$(field data_added <out)" -lt 500 ] || fail "$(field data_added <out) bytes were added"
[ "$(field files_new <out)" = 0 ] || fail "files are new"
[ "$(field dirs_new <out)" = 0 ] || fail "directories are new"
head -c 20000 /dev/urandom >"$src/fresh"
expect 0 "$CAIRN" backup --json "$src"
[ "$(field files_new <out)" = 1 ] || fail "$(field files_new <out) files are new, not 1"
added=$(field data_added <out)
[ "$added" -ge 20000 ] && [ "$added" -lt 100000 ] || fail "$added bytes were added"
expect 0 "$CAIRN" backup --json --force "$src"
[ "$(field data_added <out)" -lt 500 ] || fail "--force added $(field data_added <out) bytes"
expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
