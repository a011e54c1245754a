#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Paths may come from files: one a line, or with zero bytes between them; from standard input too.
. "$(dirname "$0")/lib.sh"

paths() { "$CAIRN" ls -R "latest:$src" | sed "s|^$src/||" | sort | tr '\n' '|'; }

"$CAIRN" init -q
mkdir -p "$src/d"
touch "$src"/{a,b,c,d/e} "$src/ x " "$src"/$'new\nline'

printf '%s\n\n%s\n%s' "$src/a" "$src/ x " "$src/d" >list
expect 0 "$CAIRN" backup --files-from list "$src/c"
[ "$(paths)" = " x |a|c|d|d/e|" ] || fail "lines: $(paths)"

printf '%s\0' "$src/b" "$src/"$'new\nline' >list
expect 0 "$CAIRN" backup --files-from list
[ "$(paths)" = 'b|line|new|' ] || fail "zero bytes: $(paths)"

echo "$src/a" >list
printf '%s\n' "$src/b" | "$CAIRN" backup -q --files-from list --files-from - || fail "two files"
[ "$(paths)" = "a|b|" ] || fail "two files: $(paths)"

: >list
expect 2 "$CAIRN" backup --files-from list
expect 1 "$CAIRN" backup --files-from absent
grep -q absent err || fail "the error does not name the file"
expect 1 "$CAIRN" backup --files-from "$src"
