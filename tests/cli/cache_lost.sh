#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cache and state are disposable: without them everything works.
. "$(dirname "$0")/lib.sh"

make_backup
rm -rf "$XDG_CACHE_HOME" "$XDG_STATE_HOME"
expect 0 "$CAIRN" backup "$src"
rm -rf "$XDG_CACHE_HOME"
expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
find "$XDG_CACHE_HOME" "$XDG_STATE_HOME" -type f -exec truncate -s 10 {} +
expect 0 "$CAIRN" check --read-data
