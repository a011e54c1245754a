#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An unreadable source is named, the rest is saved, the exit status is 3.
. "$(dirname "$0")/lib.sh"

mkdir -p "$src/closed"
echo secret >"$src/secret"
echo in >"$src/closed/in"
echo open >"$src/open"
give_to_nobody
chmod 000 "$src/secret" "$src/closed"
expect 0 as_nobody "$CAIRN" init
expect 3 as_nobody "$CAIRN" backup "$src"
grep -q "secret.*Permission denied" err || fail "the file is not named"
grep -q "closed.*Permission denied" err || fail "the directory is not named"
grep -q 'snapshot .* saved' out || fail "no snapshot"
expect 0 as_nobody "$CAIRN" cat "latest:$src/open"
[ "$(cat out)" = open ] || fail "the rest was not saved"
expect 0 as_nobody "$CAIRN" check --read-data
