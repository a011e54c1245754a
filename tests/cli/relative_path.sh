#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Relative and repeated paths are stored under their absolute names.
. "$(dirname "$0")/lib.sh"

make_tree "$src"
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup src ./src/dir/..
expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
