#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# init leaves a repository or other files alone.
. "$(dirname "$0")/lib.sh"

expect 0 "$CAIRN" init
find "$CAIRN_REPO" -type f -exec md5sum {} + | sort >before
expect 1 "$CAIRN" init
says "$CAIRN_REPO"
find "$CAIRN_REPO" -type f -exec md5sum {} + | sort >after
cmp before after || fail "the repository changed"
mkdir other
echo x >other/x
expect 1 "$CAIRN" -r other init
[ "$(ls other)" = x ] || fail "something was put beside other files"
expect 2 "$CAIRN" -r new init --encryption rot13
expect 2 "$CAIRN" -r new init --chunk-size 100000
