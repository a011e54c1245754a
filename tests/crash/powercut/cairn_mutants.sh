#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cairn_mutants.sh [--bin DIR] [--cuts N] [--seed S] [--fs FS]... [--only WORD] [--all yes]
#
# Runs the mutants of cairn_mutants.list: each that must be caught on a file system (ext4, btrfs and xfs)
# is, within N cuts (60), or the test fails. --only takes the lines that contain WORD. --all yes also
# runs those that make no difference, to see whether that is still so; they do not fail the test.
# CAIRN, TREECMP and the exit status are as for cairn_test.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${POWERCUT_BIN:-$here} cuts=60 seed=1 only='' all=no
systems=()
while [ $# -gt 1 ]; do
    case $1 in
    --bin) bin=$2 ;;
    --cuts) cuts=$2 ;;
    --seed) seed=$2 ;;
    --fs) systems+=("$2") ;;
    --only) only=$2 ;;
    --all) all=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || { sed -n '4,9s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
: "${CAIRN:?the path of the command}"
export CAIRN
[ ${#systems[@]} -gt 0 ] || systems=(ext4 btrfs xfs)
trace=$(mktemp) || exit 2
trap 'rm -f "$trace"' EXIT
tried=0 proofs=0

mutant() { # file system, level, io, mutant, match, what must be
    local fs=$1 level=$2 wrap status=0 what="$1 $2 $3 $4 $5"
    wrap="CAIRN_MUTANT=$4 CAIRN_MUTANT_TRACE=$trace LD_PRELOAD=$bin/mutant_preload.so"
    [ "$3" = direct ] || wrap="$wrap CAIRN_MUTANT_BUFFERED=1"
    [ "$5" = - ] || wrap="$wrap CAIRN_MUTANT_MATCH=$5"
    : >"$trace"
    CAIRN_WRAP=$wrap "$here/powercut.sh" --bin "$bin" --fs "$fs" --cuts "$cuts" --seed "$seed" \
        --expect fail --no-keep --workload "'$here/cairn_workload.sh' \"\$1\" $level" \
        --check "'$here/cairn_check.sh' \"\$1\" \"\$2\"" </dev/null || status=$?
    [ "$status" != 77 ] || return 0
    [ "$6" = same ] && echo "info: $what: status $status (0: caught)" && return 0
    tried=$((tried + 1))
    if [ "$status" != 0 ]; then
        echo "not ok: $what: not caught within $cuts cuts, seed $seed"
    elif ! grep -Eq '^(skip|postpone) ' "$trace"; then
        echo "not ok: $what: no call was changed"
    else
        proofs=$((proofs + 1))
        echo "ok: $what"
    fi
}

# shellcheck disable=SC2034
while read -r level io name match ext4 btrfs xfs; do
    [[ -n $level && $level != \#* && "$level $io $name $match" == *"$only"* ]] || continue
    for fs in "${systems[@]}"; do
        [ "${!fs}" = caught ] || [ "$all" = yes ] || continue
        mutant "$fs" "$level" "$io" "$name" "$match" "${!fs}"
    done
done <"$here/cairn_mutants.list"
echo "$proofs of $tried mutants caught as they must be"
[ "$tried" != 0 ] || exit 77
[ "$proofs" = "$tried" ]
