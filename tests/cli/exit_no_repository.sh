#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where no repository is, the exit status is 10.
. "$(dirname "$0")/lib.sh"

unset CAIRN_KEY_FILE
for command in "snapshots" "backup $work" "check" "ls latest" "cat latest:/x" "restore latest --target t"; do
    # shellcheck disable=SC2086
    expect 10 "$CAIRN" $command
    says "$CAIRN_REPO"
done
mkdir "$CAIRN_REPO"
expect 10 "$CAIRN" snapshots
[ ! -e t ] || fail "a target was made"
