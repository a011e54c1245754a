#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ls lists and cat prints what is in a snapshot; what is not there is an error.
. "$(dirname "$0")/lib.sh"

make_backup
expect 0 "$CAIRN" ls "latest:$src"
for name in hello dir empty sparse; do
    grep -qx "$src/$name" out || fail "ls does not list $name"
done
! grep -q numbers out || fail "ls goes deeper without -R"
expect 0 "$CAIRN" ls -lR "latest:$src"
grep -Eq "^-rw-r-----.* 6 .*$src/hello\$" out || fail "ls -l shows hello otherwise"
grep -Eq "^lrwxrwxrwx.*$src/dir/symlink -> ../hello\$" out || fail "ls -l shows no link target"
grep -Eq "1971-02-03 04:05:06 $src/dir/numbers" out || fail "ls -l shows another time"
grep -qF 'new\x0aline' out || fail "a newline in a name is not escaped in the table"
grep -qF 'bad\xff\xfeutf8' out || fail "a name that is not UTF-8 is not escaped"
expect 0 "$CAIRN" ls "latest:$src/hello"
[ "$(cat out)" = "$src/hello" ] || fail "ls of a file"
expect 0 "$CAIRN" cat "latest:$src/dir/random"
cmp out "$src/dir/random" || fail "cat differs"
expect 0 "$CAIRN" cat "latest:$src/sparse"
cmp out "$src/sparse" || fail "cat of a sparse file differs"
expect 0 "$CAIRN" cat "latest:$src/nothing"
[ ! -s out ] || fail "an empty file is not empty"
expect 1 "$CAIRN" cat "latest:$src/absent"
says 'absent'
expect 2 "$CAIRN" cat "latest:$src/dir"
expect 1 "$CAIRN" ls "latest:/absent"
