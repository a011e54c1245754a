#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Help and version work without a repository, and list only what exists.
. "$(dirname "$0")/lib.sh"

expect 0 "$CAIRN" help
silent
for c in init backup restore snapshots ls cat check version help; do
    grep -q "^  $c " out || fail "help does not list $c"
done
! grep -Eq '^  (prune|mount|forget) ' out || fail "help lists what is not there"
cp out general
expect 0 "$CAIRN" --help
cmp out general || fail "--help and help differ"
for c in init backup restore snapshots ls cat check; do
    expect 0 "$CAIRN" help "$c"
    cp out one
    expect 0 "$CAIRN" "$c" --help
    cmp out one || fail "help $c and $c --help differ"
    grep -q "^usage: cairn $c" out || fail "no usage of $c"
done
expect 0 "$CAIRN" version
grep -q '^cairn [0-9]' out || fail "no version"
grep -q '^compiler' out || fail "not what it was built with"
