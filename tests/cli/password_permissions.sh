#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A password or key file that others can read is refused, with the remedy.
. "$(dirname "$0")/lib.sh"

mkdir "$src"
expect 0 "$CAIRN" init
[ "$(stat -c %a key)" = 600 ] || fail "the new key file has mode $(stat -c %a key)"
chmod 640 key
expect 2 "$CAIRN" snapshots
says 'chmod 600'
chmod 600 key
expect 0 "$CAIRN" snapshots
unset CAIRN_KEY_FILE
echo password >pw
chmod 604 pw
expect 2 "$CAIRN" -r "$work/second" init --password-file pw
says 'chmod 600'
[ ! -e "$work/second/config" ] || fail "a repository was made all the same"
