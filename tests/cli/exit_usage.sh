#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Wrong usage is exit status 2, with a line that says what is right.
. "$(dirname "$0")/lib.sh"

expect 2 "$CAIRN"
says 'cairn help'
expect 2 "$CAIRN" --no-such-option snapshots
says 'no option --no-such-option'
expect 2 "$CAIRN" backup
says 'PATH'
expect 2 "$CAIRN" backup --frce x
says 'did you mean --force'
expect 2 "$CAIRN" backup --compression 20 x
says 'compression expects'
expect 2 "$CAIRN" backup --stdin y
says 'not in this version'
expect 2 "$CAIRN" backup --sync-level
says 'needs a value'
expect 2 "$CAIRN" restore latest
says '--target'
expect 2 "$CAIRN" ls
expect 2 "$CAIRN" ls a b
expect 2 "$CAIRN" cat latest
says 'SNAPSHOT:PATH'
expect 2 "$CAIRN" -q -v snapshots
expect 2 env -u CAIRN_REPO "$CAIRN" snapshots
says 'CAIRN_REPO'
expect 2 "$CAIRN" --threads 0 snapshots
expect 2 "$CAIRN" --memory-limit much snapshots
