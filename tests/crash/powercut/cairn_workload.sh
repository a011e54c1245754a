#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cairn_workload.sh DIR LEVEL [BACKUPS]: the workload of cairn_test.sh. Makes a repository in DIR
# and backs a changing source up into it. LEVEL is a sync level, or
#   none, metadata   half of the backups at level file, then two at LEVEL, then one at file again
#                    (which refers to chunks that were stored at LEVEL)
# Marks: `init`; `saved-ID` as soon as cairn has said that a snapshot is safe; `weak-ID` for one at
# none or metadata. POWERCUT_SCRATCH keeps for the check what the source was (kept/ID) and what the
# client remembered (state-of/ID).
#
# CAIRN is the command, CAIRN_WRAP words of `env` for it (a mutant).
set -euo pipefail
dir=$1 level=$2 backups=${3:-6}
scratch=$POWERCUT_SCRATCH
source=$scratch/source
export LC_ALL=C TZ=UTC HOME=$scratch/home XDG_STATE_HOME=$scratch/state
export CAIRN_REPO=$dir/repo CAIRN_KEY_FILE=$scratch/key CAIRN_CACHE_DIR=$scratch/cache
unset CAIRN_PASSWORD_FILE CAIRN_PASSWORD_COMMAND XDG_CACHE_HOME
mkdir "$HOME" "$source" "$scratch/kept" "$scratch/state-of"
echo "$source" >"$scratch/source-path"
echo "$level" >"$scratch/level"

# A power cut ends a boot, and cairn distrusts what an earlier boot left without a sync. The cut
# here does not, so this is another boot than the one in which the check runs.
[ -n "${POWERCUT_NAMESPACE:-}" ] || { echo "needs a mount namespace of its own" >&2 && exit 1; }
cat /proc/sys/kernel/random/uuid >"$scratch/boot"
mount --bind "$scratch/boot" /proc/sys/kernel/random/boot_id
trap 'umount /proc/sys/kernel/random/boot_id' EXIT

random() { head -c "$1" /dev/urandom; }

# Some 2 MB, of which every round replaces about a half.
change() { # round
    local i
    mkdir -p "$source/many/deep"
    if [ "$1" = 1 ]; then
        random 1000000 >"$source/big"
        random 100000 >"$source/same"
        for i in $(seq 1 20); do random $((100 + i * 90)) >"$source/many/$i"; done
        ln "$source/same" "$source/many/linked"
        ln -s ../same "$source/many/symlink"
        mkdir "$source/empty"
    fi
    random 300000 | dd of="$source/big" bs=1000 seek=$(($1 * 97)) conv=notrunc status=none
    random $((200000 + $1 * 7919)) >"$source/many/deep/new$1"
    rm -f "$source/many/deep/new$(($1 - 2))"
    for i in 1 2 3; do random $((99 + $1 * i)) >"$source/many/$(($1 * i))"; done
    seq "$1" 20000 >"$source/many/text"
}

cairn() {
    # shellcheck disable=SC2086
    env ${CAIRN_WRAP:-} "$CAIRN" "$@"
}

backup() { # round, level, kind of mark
    local id summary
    change "$1"
    cp -a "$source" "$scratch/kept/next"
    cairn backup "$source" --sync-level "$2" --json >"$scratch/summary"
    summary=$(<"$scratch/summary")
    id=${summary##*\"snapshot_id\":\"} && id=${id%%\"*}
    mark "$3-$id"
    mv "$scratch/kept/next" "$scratch/kept/$id"
    cp -a "$scratch/state" "$scratch/state-of/$id"
    grep -q "\"sync_level\":\"$2\"" "$scratch/summary" || { echo "not at level $2" >&2 && exit 1; }
}

case $level in
none | metadata) first=file weak=$((backups - 3)) ;;
*) first=$level weak=$backups ;;
esac
cairn init --sync-level "$first" --chunk-size 64K >/dev/null
mark init
for round in $(seq 1 "$backups"); do
    if [ "$round" -gt "$weak" ] && [ "$round" -lt "$backups" ]; then
        backup "$round" "$level" weak
    else
        backup "$round" "$first" saved
    fi
done
packs=$(find "$dir/repo/packs" -type f | wc -l)
[ "$packs" -gt "$backups" ] || { echo "only $packs packs" >&2 && exit 1; }
