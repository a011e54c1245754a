#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target that cannot be written is an error that names it; nothing else is touched.
. "$(dirname "$0")/lib.sh"

mkdir "$src" locked
echo x >"$src/file"
give_to_nobody
expect 0 as_nobody "$CAIRN" init
expect 0 as_nobody "$CAIRN" backup "$src"
chmod 555 locked
expect 1 as_nobody "$CAIRN" restore latest --target "$work/locked/target"
says 'locked'
expect 1 as_nobody "$CAIRN" restore latest --target /proc/no/such/place
says '/proc/no'
mkdir full
echo mine >full/mine
expect 1 as_nobody "$CAIRN" restore latest --target "$work/full"
says 'full'
[ "$(ls full)" = mine ] && [ "$(cat full/mine)" = mine ] || fail "the full directory was touched"
