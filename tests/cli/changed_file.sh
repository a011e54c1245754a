#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tree changes of every kind between two backups come back as they are.
. "$(dirname "$0")/lib.sh"

make_backup
sed -i 's/^100$/one hundred/' "$src/dir/numbers"
rm "$src/dir/random"
mv "$src/dir/deeper" "$src/moved"
rm "$src/hello" && mkdir "$src/hello" && echo now >"$src/hello/inside"
rmdir "$src/empty" && ln -s moved "$src/empty"
chmod 600 "$src/sparse"
expect 0 "$CAIRN" backup "$src"
expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
expect 0 "$CAIRN" check --read-data
