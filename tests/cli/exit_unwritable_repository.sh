#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository that cannot be written is an error, and the old snapshots stay.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
head -c 100000 /dev/urandom >"$src/file"
give_to_nobody
expect 0 as_nobody "$CAIRN" init
expect 0 as_nobody "$CAIRN" backup "$src"
head -c 100000 /dev/urandom >"$src/file2"
chmod -R a-w "$CAIRN_REPO"
expect 1 as_nobody "$CAIRN" backup "$src"
[ -s err ] || fail "no reason"
chmod -R u+w "$CAIRN_REPO"
expect 0 as_nobody "$CAIRN" check --read-data
expect 0 as_nobody "$CAIRN" snapshots
grep -q '^1 snapshot' out || fail "not one snapshot"
