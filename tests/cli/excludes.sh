#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Patterns leave out what they match and nothing else, by the rules of .gitignore.
. "$(dirname "$0")/lib.sh"

listed() { "$CAIRN" ls -R "latest:$src" | sed "s|^$src/||" | sort; }
expect_listed() {
    listed >listed
    printf '%s\n' "$@" | sort >expected
    diff expected listed || fail "not what was expected"
}

"$CAIRN" init -q
mkdir -p "$src"/{build/output,sub/build/output,keep}
for f in a.o a.c build/x.o build/output/y sub/a.o sub/build/output/y sub/temp keep/a.o temp; do
    echo "$f" >"$src/$f"
done

expect 0 "$CAIRN" backup "$src" --exclude '*.o'
grep -q 'Left out:.* 4 ' out || fail "the summary does not count them"
expect_listed a.c build build/output build/output/y sub sub/build sub/build/output \
    sub/build/output/y sub/temp keep temp

# Anchored at the given path, or at the root of the file system.
expect 0 "$CAIRN" backup "$src" --exclude /temp -e build/output --exclude "$src/keep"
expect_listed a.o a.c build build/x.o sub sub/a.o sub/build sub/build/output sub/build/output/y \
    sub/temp

# A file of patterns, taken back on the command line; an excluded directory is not looked into.
printf '# made by tools\n*.o\r\nbuild/\n\n**/temp\n' >patterns
expect 0 "$CAIRN" backup "$src" --exclude-file patterns --exclude '!keep/*.o'
expect_listed a.c sub keep keep/a.o

# What is excluded is gone from the next snapshot and comes back unharmed.
expect 0 "$CAIRN" backup "$src"
expect 0 "$CAIRN" restore latest --target back
diff -r "$src" "back$src" || fail "the restored tree differs"

expect 1 "$CAIRN" backup "$src" --exclude src
grep -q 'excluded' err || fail "the error does not say why nothing is left"

for bad in '[a' 'x\' '/' ''; do
    expect 2 "$CAIRN" backup "$src" --exclude "$bad"
    grep -q 'pattern' err || fail "the error does not speak of a pattern: $bad"
done
printf 'fine\n[z-a]\n' >patterns
expect 2 "$CAIRN" backup "$src" --exclude-file patterns
grep -q 'patterns, line 2' err || fail "the error names no line"
expect 1 "$CAIRN" backup "$src" --exclude-file absent
grep -q 'absent' err || fail "the error does not name the file"
