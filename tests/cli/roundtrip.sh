#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What was backed up is restored identically, as a path and with full paths.
. "$(dirname "$0")/lib.sh"

make_backup
expect 0 "$CAIRN" restore "latest:$src" --target "$work/out1" --verify
silent
same "$src" "$work/out1"
expect 0 "$CAIRN" restore latest --target "$work/out2"
same "$src" "$work/out2$src"
