#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository within what is backed up is left out, wherever it is and by whatever path it is named.
. "$(dirname "$0")/lib.sh"

mkdir -p "$src/deep"
echo data >"$src/deep/file"
CAIRN_REPO=$src/deep/repo "$CAIRN" init -q
ln -s src/deep/repo repo
for i in 1 2; do
    expect 0 "$CAIRN" backup "$src"
    grep -q 'note: the repository lies within' err || fail "it is not told"
done
"$CAIRN" ls -R "latest:$src" >listed
[ "$(sed "s|^$src/||" listed | tr '\n' ' ')" = "deep deep/file deep/repo " ] ||
    fail "stored: $(cat listed)"
