#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A password repository opens with its password, from wherever it comes, and no other (12).
. "$(dirname "$0")/lib.sh"

unset CAIRN_KEY_FILE
mkdir "$src"
echo content >"$src/file"
(umask 077 && echo 'the password' >pw && echo wrong >bad)
expect 0 "$CAIRN" init --password-file pw
expect 0 "$CAIRN" --password-file pw backup "$src"
expect 0 "$CAIRN" snapshots --password-command 'echo the password'
CAIRN_PASSWORD='the password' expect 0 "$CAIRN" snapshots
CAIRN_PASSWORD_FILE=$work/pw expect 0 "$CAIRN" snapshots
CAIRN_PASSWORD_COMMAND='cat pw' expect 0 "$CAIRN" snapshots
expect 12 "$CAIRN" --password-file bad snapshots
says 'wrong password'
CAIRN_PASSWORD=wrong expect 12 "$CAIRN" backup "$src"
says 'wrong password'
expect 12 setsid -w "$CAIRN" snapshots
says 'no terminal'
expect 2 "$CAIRN" snapshots --password-command 'exit 3'
says 'password command failed'
