#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several paths make one snapshot with all of them.
. "$(dirname "$0")/lib.sh"

mkdir -p a/x b/y
echo 1 >a/x/1
echo 2 >b/y/2
echo 3 >single
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup a b single
expect 0 "$CAIRN" restore latest --target "$work/restored"
same a "restored$work/a"
same b "restored$work/b"
cmp single "restored$work/single" || fail "the single file differs"
