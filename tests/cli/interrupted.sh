#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SIGINT and SIGTERM end a backup cleanly: no snapshot, older ones intact, the next one works.
. "$(dirname "$0")/lib.sh"

mkdir "$src" "$work/small"
echo x >"$work/small/file"
expect 0 "$CAIRN" init
expect 0 "$CAIRN" backup "$work/small"
# interrupt SIGNAL BYTES: sets status to how the backup of so much data ended.
interrupt() {
    head -c "$2" /dev/urandom >"$src/big"
    env --default-signal=INT "$CAIRN" backup --force "$src" >out 2>err &
    local pid=$! before=$1
    for _ in $(seq 1 500); do
        [ -z "$(find "$CAIRN_REPO/tmp" -type f 2>/dev/null)" ] || break
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.01
    done
    kill -s "$before" "$pid" 2>/dev/null || true
    status=0
    wait "$pid" || status=$?
}
for pair in INT:130 TERM:143; do
    for size in 100M 400M; do
        interrupt "${pair%:*}" "$size"
        [ "$status" = 0 ] || break
    done
    [ "$status" != 0 ] || skip "the backup is always faster than the signal"
    [ "$status" = "${pair#*:}" ] || fail "exit status $status after ${pair%:*}"
    says 'interrupted'
    expect 0 "$CAIRN" check --read-data
    expect 0 "$CAIRN" snapshots --path "$src"
    [ "$(tail -n 1 out)" = '0 snapshots' ] || fail "an interrupted backup left a snapshot"
    expect 0 "$CAIRN" cat "latest:$work/small/file"
done
head -c 1000000 /dev/urandom >"$src/big"
expect 0 "$CAIRN" backup "$src"
expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
same "$src" "$work/restored"
