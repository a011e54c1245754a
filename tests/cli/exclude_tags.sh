#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Of directories with a cache tag, or with a named file, only that file is kept.
. "$(dirname "$0")/lib.sh"

listed() { "$CAIRN" ls -R "latest:$src" | sed "s|^$src/||" | sort | tr '\n' ' '; }

"$CAIRN" init -q
mkdir -p "$src"/{cache/deep,false,other,link}
printf 'Signature: 8a477f597d28d172789f06886806bc55\n# more\n' >"$src/cache/CACHEDIR.TAG"
printf 'Signature: 8a477f597d28d172789f06886806bc5' >"$src/false/CACHEDIR.TAG"
ln -s ../cache/CACHEDIR.TAG "$src/link/CACHEDIR.TAG"
touch "$src"/cache/{A,Z,deep/f} "$src"/{false,link}/f "$src"/other/{.nobackup,f,.a}

expect 0 "$CAIRN" backup "$src" --exclude-caches
grep -q 'Left out:.* 1 ' out || fail "the summary does not count it"
[ "$(listed)" = "cache cache/CACHEDIR.TAG false false/CACHEDIR.TAG false/f link link/CACHEDIR.TAG link/f other other/.a other/.nobackup other/f " ] ||
    fail "not what was expected: $(listed)"

expect 0 "$CAIRN" backup "$src" --exclude-caches --exclude-if-present .nobackup --exclude-if-present Z
[ "$(listed)" = "cache cache/CACHEDIR.TAG cache/Z false false/CACHEDIR.TAG false/f link link/CACHEDIR.TAG link/f other other/.nobackup " ] ||
    fail "not what was expected: $(listed)"

expect 2 "$CAIRN" backup "$src" --exclude-if-present a/b
expect 2 "$CAIRN" backup "$src" --exclude-if-present ''
