#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# cairn_test.sh [--bin DIR] [--cuts N] [--seed S] [--fs FS]... [--level LEVEL]... [--io direct|buffered]...
#
# Real power cuts of cairn: for each file system (ext4 and btrfs), level (filesystem and file) and way of
# writing packs (direct), a run of cairn_workload.sh and N cuts (12; CAIRN_POWERCUTS), each judged by
# cairn_check.sh. --bin is where the tools of this directory were built, CAIRN the command, TREECMP
# the comparer of trees (diff without it). `buffered` lets cairn meet a file system that refuses O_DIRECT.
#
# Exit status: 0 nothing was lost, 1 something was, 2 the harness failed, 77 not possible here.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=${POWERCUT_BIN:-$here} cuts=${CAIRN_POWERCUTS:-12} seed=1
systems=() levels=() ios=()
while [ $# -gt 1 ]; do
    case $1 in
    --bin) bin=$2 ;;
    --cuts) cuts=$2 ;;
    --seed) seed=$2 ;;
    --fs) systems+=("$2") ;;
    --level) levels+=("$2") ;;
    --io) ios+=("$2") ;;
    *) break ;;
    esac
    shift 2
done
[ $# = 0 ] || { sed -n '4,12s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
: "${CAIRN:?the path of the command}"
export CAIRN
[ ${#systems[@]} -gt 0 ] || systems=(ext4 btrfs)
[ ${#levels[@]} -gt 0 ] || levels=(filesystem file)
[ ${#ios[@]} -gt 0 ] || ios=(direct)

result=77
for fs in "${systems[@]}"; do
    for level in "${levels[@]}"; do
        for io in "${ios[@]}"; do
            wrap=
            [ "$io" = direct ] || wrap="CAIRN_MUTANT_BUFFERED=1 LD_PRELOAD=$bin/mutant_preload.so"
            begin=$SECONDS status=0
            CAIRN_WRAP=$wrap "$here/powercut.sh" --bin "$bin" --fs "$fs" --cuts "$cuts" \
                --seed "$seed" --workload "'$here/cairn_workload.sh' \"\$1\" $level" \
                --check "'$here/cairn_check.sh' \"\$1\" \"\$2\"" || status=$?
            case $status in
            0) echo "ok: $fs, level $level, $io, $((SECONDS - begin)) s" ;;
            77) continue ;;
            *) echo "not ok: $fs, level $level, $io; again: CAIRN=$CAIRN TREECMP=${TREECMP:-}" \
                "$0 --bin $bin --cuts $cuts --seed $seed --fs $fs --level $level --io $io" ;;
            esac
            [ "$result" != 77 ] || result=0
            [ "$status" -le "$result" ] || result=$status
        done
    done
done
exit "$result"
