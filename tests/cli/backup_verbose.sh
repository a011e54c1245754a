#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With -v each entry is named with what became of it; a dry run says the same.
. "$(dirname "$0")/lib.sh"

"$CAIRN" init -q
mkdir -p "$src/d"
echo 1 >"$src/d/a"
echo 1 >"$src/b"
expect 0 "$CAIRN" backup -v --dry-run "$src"
grep -qx "new $src/d/a" err || fail "a new file is not named in a dry run"
expect 0 "$CAIRN" backup -v "$src"
grep -qx "new $src/d" err || fail "a new directory is not named"
sleep 2.1
expect 0 "$CAIRN" backup -q "$src"
echo 22 >"$src/b"
expect 0 "$CAIRN" backup -v "$src"
grep -qx "unmodified $src/d/a" err || fail "an unmodified file is not named"
grep -qx "changed $src/b" err || fail "a changed file is not named"
"$CAIRN" --json backup -v "$src" >out
grep '"item"' out | grep -q "\"action\": *\"changed\"" || fail "no action in JSON: $(head -3 out)"
