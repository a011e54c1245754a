#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# selftest.sh BIN-DIRECTORY FS [CUTS]: on the file system FS, the harness finds nothing wrong with a store that does right,
# and catches each mutant of it, the mutants built into selfwork and those made by mutant_preload.
# A preload mutant must also have changed a call, or its being caught would prove nothing.
set -u
[ $# -ge 2 ] || { echo "usage: selftest.sh BIN-DIRECTORY ext4|btrfs|xfs [CUTS]" >&2 && exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd) || exit 2
fs=$2
cuts=${3:-60}
trace=$(mktemp) || exit 2
trap 'rm -f "$trace"' EXIT
proofs=0 tried=0

store() { # expect, level [mutant of selfwork [mutant of the preload]]
    expect=$1 level=$2 mutant=${3:-} preload=${4:-} environment=''
    : >"$trace"
    [ -z "$preload" ] ||
        environment="CAIRN_MUTANT=$preload CAIRN_MUTANT_TRACE=$trace LD_PRELOAD=$bin/mutant_preload.so"
    "$here/powercut.sh" --bin "$bin" --fs "$fs" --expect "$expect" --cuts "$cuts" --no-keep \
        --workload "$environment $bin/selfwork run \"\$1\" 12 $level $mutant" \
        --check "$bin/selfwork check \"\$1\" \"\$2\""
    status=$?
    [ "$status" != 77 ] || exit 77
    tried=$((tried + 1))
    what="$fs $level ${mutant:-${preload:-right}}"
    if [ "$status" != 0 ]; then
        echo "not ok: $what; again: $0 $bin $fs $cuts"
    elif [ -n "$preload" ] && [ "$expect" = fail ] && ! grep -Eq '^(skip|postpone) ' "$trace"; then
        echo "not ok: $what: no call was changed; again: $0 $bin $fs $cuts"
    else
        proofs=$((proofs + 1))
        echo "ok: $what"
    fi
}

for level in file filesystem; do
    store pass "$level"
    for mutant in no-fsync no-dirsync early-mark; do
        store fail "$level" "$mutant"
    done
    for preload in skip-fsync-file skip-fsync-dir skip-all-fsync swap-dir-file swap-log; do
        store fail "$level" "" "$preload"
    done
done
store pass file '' none
store fail filesystem '' skip-syncfs
store fail filesystem '' swap-syncfs
echo "$proofs of $tried as expected"
[ "$proofs" = "$tried" ]
