#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/rescue.py, which was written from docs/format.md alone, restores what cairn stored.
rescue=$(readlink -f "$(dirname "$0")/../../tools/rescue.py")
. "$(dirname "$0")/lib.sh"

python=/usr/bin/python3
"$python" "$rescue" --help >/dev/null 2>&1 || skip "no python3"
make_backup
expect 0 "$python" "$rescue" -r "$CAIRN_REPO" --key-file "$CAIRN_KEY_FILE" snapshots
expect 0 "$python" "$rescue" -r "$CAIRN_REPO" --key-file "$CAIRN_KEY_FILE" check
expect 0 "$python" "$rescue" -r "$CAIRN_REPO" --key-file "$CAIRN_KEY_FILE" restore latest --target "$work/rescued"
same "$src" "$work/rescued$src"
expect 0 "$python" "$rescue" -r "$CAIRN_REPO" --key-file "$CAIRN_KEY_FILE" --ignore-index restore latest --target "$work/again"
same "$src" "$work/again$src"
