#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A failure with --json is one object on standard error and nothing on standard output.
. "$(dirname "$0")/lib.sh"

need_python
failure() {
    local wanted=$1
    shift
    expect "$wanted" "$CAIRN" --json "$@"
    [ ! -s out ] || fail "standard output is not empty: $*"
    [ "$(wc -l <err)" = 1 ] || fail "not one line: $*"
    [ "$(field message_type <err)" = exit_error ] || fail "not typed: $*"
    [ "$(field code <err)" = "$wanted" ] || fail "another code: $*"
    [ -n "$(field message <err)" ] || fail "no message: $*"
}
(unset CAIRN_KEY_FILE && failure 10 snapshots)
failure 2 nonsense
failure 2 backup
expect 0 "$CAIRN" init
failure 1 ls 0123456789
failure 1 init
