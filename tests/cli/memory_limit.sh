#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A memory limit that is too small is refused; the smallest one is enough.
. "$(dirname "$0")/lib.sh"

make_tree "$src"
expect 0 "$CAIRN" init
expect 1 "$CAIRN" --memory-limit 1M backup "$src"
says 'memory limit'
expect 0 "$CAIRN" --memory-limit 96M --threads 1 backup "$src"
expect 0 "$CAIRN" --memory-limit 96M --threads 1 restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
