#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository of a newer format is refused before anything is done to it.
. "$(dirname "$0")/lib.sh"

make_backup
printf '\002' | dd of="$CAIRN_REPO/config" bs=1 seek=10 conv=notrunc status=none
find "$CAIRN_REPO" -type f -exec md5sum {} + | sort >before
for command in snapshots "backup $src" check "restore latest --target t"; do
    # shellcheck disable=SC2086
    expect 1 "$CAIRN" $command
    says 'newer|version|format'
done
find "$CAIRN_REPO" -type f -exec md5sum {} + | sort >after
cmp before after || fail "the repository changed"
[ ! -e t ] || fail "a target was made"
