#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With -q only results are printed; no command writes progress when there is no terminal.
. "$(dirname "$0")/lib.sh"

make_tree "$src"
expect 0 "$CAIRN" -q init
[ ! -s out ] || fail "init says something"
silent
expect 0 "$CAIRN" -q backup "$src"
[ ! -s out ] || fail "backup says something"
silent
expect 0 "$CAIRN" backup "$src"
silent
! grep -q $'\r' out || fail "a progress line in a file"
expect 0 "$CAIRN" -q check --read-data
[ ! -s out ] || fail "check says something"
expect 0 "$CAIRN" -q restore latest --target t
[ ! -s out ] || fail "restore says something"
expect 0 "$CAIRN" -q ls "latest:$src"
[ -s out ] || fail "ls prints nothing"
