#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A dry run says what would be stored and writes nothing.
. "$(dirname "$0")/lib.sh"

make_backup
head -c 500000 /dev/urandom >"$src/more"
find "$CAIRN_REPO" -type f | sort >before
expect 0 "$CAIRN" backup --dry-run "$src"
grep -q 'dry run' out || fail "it does not say so"
find "$CAIRN_REPO" -type f | sort >after
cmp before after || fail "files came or went"
