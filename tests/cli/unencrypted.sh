#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository without encryption asks for no password.
. "$(dirname "$0")/lib.sh"

unset CAIRN_KEY_FILE
make_tree "$src"
expect 0 "$CAIRN" init --encryption none
expect 0 setsid -w "$CAIRN" backup "$src"
expect 0 setsid -w "$CAIRN" check --read-data
expect 0 setsid -w "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
