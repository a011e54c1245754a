#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A mistyped or foreign command is answered with cairn's own.
. "$(dirname "$0")/lib.sh"

answer() {
    expect 2 "$CAIRN" "$1"
    says "$2"
}
answer bakcup 'did you mean backup'
answer snapshot 'backup'
answer verify 'check'
answer garbage-collection 'prune.*not in this version'
answer prune 'not in this version'
answer mount 'not in this version'
answer unlock 'no locks'
answer create 'cairn init'
answer list 'snapshots'
answer extract 'restore'
answer xyzzy 'cairn help'
expect 2 "$CAIRN" $'bad\e[31mname'
! grep -q $'\e' err || fail "an escape sequence reached the terminal"
