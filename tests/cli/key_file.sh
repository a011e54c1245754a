#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository with a key file and a password opens with either; another key file does not.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
(umask 077 && echo 'the password' >pw)
expect 0 "$CAIRN" init --password-file pw
expect 0 "$CAIRN" snapshots
expect 0 env -u CAIRN_KEY_FILE "$CAIRN" snapshots --password-file pw
expect 0 "$CAIRN" -r "$work/other" --key-file "$work/other-key" init
expect 12 "$CAIRN" --key-file "$work/other-key" snapshots
says 'key'
echo nonsense >"$work/no-key"
chmod 600 "$work/no-key"
expect 1 "$CAIRN" --key-file "$work/no-key" snapshots
says 'not a cairn key file'
