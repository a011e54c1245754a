#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The whole command, killed, interrupted and terminated at random moments of a larger backup: what
# was reported restores, nothing has to be repaired, and the backup after it stores the rest only.
# CAIRN_ROUNDS=N (default 20), CAIRN_SEED=N.
. "$(dirname "$0")/../../cli/lib.sh"

rounds=${CAIRN_ROUNDS:-20}
seed=${CAIRN_SEED:-$RANDOM}
RANDOM=$seed
echo "seed $seed"

# orphans: how many packs no commit lists, by the last check.
orphans() {
    "$CAIRN" check --json 2>/dev/null </dev/null | field orphan_packs
}

# stored: bytes of packs, complete or begun.
stored() {
    find "$CAIRN_REPO/packs" "$CAIRN_REPO/tmp" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'
}

mkdir "$src" "$work/small"
head -c 100000 /dev/urandom >"$work/small/file"
signals=(KILL KILL KILL INT TERM)
killed=0 early=0 left=0
declare -A ended
for round in $(seq 1 "$rounds"); do
    # A new repository now and then, so that reading all of it stays cheap.
    if ((round % 3 == 1)); then
        rm -rf "$CAIRN_REPO" "$CAIRN_KEY_FILE" "$XDG_STATE_HOME" "$XDG_CACHE_HOME"
        expect 0 "$CAIRN" init
        expect 0 "$CAIRN" backup "$work/small"
    fi
    rm -rf "$src"
    mkdir "$src"
    head -c 75M /dev/urandom >"$src/a"
    head -c 15M /dev/urandom >"$src/b"
    for i in $(seq 1 200); do echo "$round $i" >"$src/small$i"; done
    signal=${signals[RANDOM % 5]}
    env --default-signal=INT "$CAIRN" backup "$src" >out 2>err &
    pid=$!
    # Half of them at a moment, half when so much was written: slow machines get both.
    if ((RANDOM % 2)); then
        sleep "0.$(printf '%03d' $((RANDOM % 600)))"
    else
        goal=$(($(stored) + (RANDOM % 90 + 1) * 1000000))
        while kill -0 "$pid" 2>/dev/null && [ "$(stored)" -lt "$goal" ]; do sleep 0.01; done
    fi
    kill -s "$signal" "$pid" 2>/dev/null || true
    status=0
    wait "$pid" 2>/dev/null || status=$?
    ended[$status]=$((${ended[$status]:-0} + 1))
    case $status in
        0)
            early=$((early + 1))
            expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
            ;;
        137) killed=$((killed + 1)) ;;
        130 | 143) says 'interrupted' ;;
        *) fail "round $round: exit status $status after $signal" ;;
    esac
    [ "$(find "$CAIRN_REPO/tmp" -name 'u*' | wc -l)" = 0 ] || left=$((left + 1))
    expect 0 "$CAIRN" check --read-data
    expect 0 "$CAIRN" cat "latest:$work/small/file" --path "$work/small"
    cmp -s out "$work/small/file" || fail "round $round: the older snapshot has other bytes"
    if [ "$status" != 0 ]; then
        expect 0 "$CAIRN" backup "$src"
        expect 0 "$CAIRN" restore "latest:$src" --target "$work/restored"
    fi
    same "$src" "$work/restored"
    rm -rf "$work/restored"
    [ -z "$(ls -A "$CAIRN_REPO/tmp")" ] || fail "round $round: something is left in tmp"
    if command -v python3 >/dev/null; then
        [ "$(orphans)" = 0 ] || fail "round $round: packs without a commit are left"
    fi
done
expect 0 "$CAIRN" check --read-data
echo "$rounds rounds: $killed killed, $early were faster, exit statuses: $(for s in "${!ended[@]}"; do echo -n "$s:${ended[$s]} "; done)"
echo "$left left complete or begun packs behind"
