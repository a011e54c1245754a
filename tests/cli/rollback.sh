#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository that is older than it was, or suddenly unencrypted, is refused.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
echo one >"$src/file"
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup "$src"
cp -a "$CAIRN_REPO" older
echo two >"$src/file"
expect 0 "$CAIRN" backup "$src"
mv "$CAIRN_REPO" newer
mv older "$CAIRN_REPO"
expect 1 "$CAIRN" snapshots
[ -s err ] || fail "no reason"
expect 1 "$CAIRN" backup "$src"
expect 4 "$CAIRN" check
rm -rf "$CAIRN_REPO"
expect 0 env -u CAIRN_KEY_FILE XDG_STATE_HOME="$work/elsewhere" "$CAIRN" init --encryption none
expect 1 env -u CAIRN_KEY_FILE "$CAIRN" backup "$src"
[ -s err ] || fail "no reason"
rm -rf "$CAIRN_REPO"
mv newer "$CAIRN_REPO"
expect 0 "$CAIRN" check --read-data
