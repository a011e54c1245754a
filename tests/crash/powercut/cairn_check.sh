#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cairn_check.sh DIR MARKS: after a power cut, is all that cairn has reported as saved still there?
#   1. As a stranger to the repository (no state, no cache): it opens, each marked snapshot is listed and
#      restores exactly, `check --read-data` finds no damage. A snapshot of level none or metadata
#      has to be listed; it may fail to restore, but not give anything wrong.
#   2. As the client that made it, with the state of the last mark and a cache that knows more than
#      the disk kept: nothing is taken for a rollback, and the next backup works without a repair and
#      restores.
set -euo pipefail
dir=$1 marks=$2
scratch=$POWERCUT_SCRATCH
source=$(cat "$scratch/source-path") # in the snapshots
now=$scratch/source                  # another path than that, if this repeats a kept log
level=$(cat "$scratch/level")
work=$(mktemp -d "$scratch/check.XXXXXX")
trap 'rm -rf "$work"' EXIT
export LC_ALL=C TZ=UTC HOME=$work/home XDG_STATE_HOME=$work/state
export CAIRN_REPO=$dir/repo CAIRN_KEY_FILE=$scratch/key CAIRN_CACHE_DIR=$work/cache
unset CAIRN_PASSWORD_FILE CAIRN_PASSWORD_COMMAND XDG_CACHE_HOME
mkdir "$HOME"
case $level in
none | metadata) next=file damage='0|4' ;;
*) next=$level damage=0 ;;
esac

fail() {
    echo "$*"
    sed 's/^/  /' "$work/err" "$work/out" 2>/dev/null | tail -n 12
    exit 1
}

expect() { # statuses, command...
    local wanted=$1 got=0
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
    status=$got
    [[ $got =~ ^($wanted)$ ]] || fail "exit status $got: ${*##*/}"
}

# What the restored snapshot ID is, against the directory of the source at that time.
compare() { # id, directory
    if [ -n "${TREECMP:-}" ]; then
        "$TREECMP" "$2" "$work/target" >"$work/out" 2>&1 || fail "snapshot $1 restores differently"
    else
        diff -r --no-dereference "$2" "$work/target" >"$work/out" 2>&1 ||
            fail "snapshot $1 restores differently"
    fi
}

restore() { # statuses, id, path in the snapshot, what was there
    expect "$1" "$CAIRN" restore "$2:$3" --target "$work/target" --sync-level none
    [ "$status" != 0 ] || compare "$2" "$4"
    rm -rf "$work/target"
}

check_marks() {
    local name id
    while read -r name; do
        id=${name#*-}
        [ "$name" = init ] && continue
        grep -q "\"id\":\"$id\"" "$work/list" || fail "$name is not listed"
        case $name in
        saved-*) restore 0 "$id" "$source" "$scratch/kept/$id" ;;
        weak-*) restore '[0134]' "$id" "$source" "$scratch/kept/$id" ;;
        esac
    done <"$marks"
}

if ! grep -qx init "$marks"; then
    expect '0|10' "$CAIRN" snapshots
    "$CAIRN" snapshots >/dev/null 2>&1 || exit 0
fi
expect 0 "$CAIRN" snapshots --json
mv "$work/out" "$work/list"
check_marks
expect "$damage" "$CAIRN" check --read-data

last=$(sed -n 's/^[a-z]*-//p' "$marks" | tail -n 1)
rm -rf "$work/state" "$work/cache"
[ -z "$last" ] || cp -a "$scratch/state-of/$last" "$work/state"
[ ! -d "$scratch/cache" ] || cp -a "$scratch/cache" "$work/cache"
expect 0 "$CAIRN" backup "$now" --sync-level "$next" --json
id=$(sed -n 's/.*"snapshot_id":"\([0-9a-f]*\)".*/\1/p' "$work/out")
restore 0 "$id" "$now" "$now"
expect "$damage" "$CAIRN" check --read-data
