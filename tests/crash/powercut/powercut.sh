#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs a workload on a disk whose every write and flush is logged, then cuts the power at many
# points of that log and runs a check on what a mount finds. README.md says how and why.
#
# Exit status: 0 each check passed, 1 a check failed, 2 the harness or a file system failed,
# 77 this machine cannot run it.
set -u

usage() {
    cat >&2 <<'END'
usage: powercut.sh [OPTION...] --workload CMD --check CMD
       powercut.sh --log DIR [--cut SPEC | --cuts N --seed S] --check CMD
  --fs ext4|btrfs|xfs     file system (ext4)
  --cuts N                number of power cuts (50); the whole log is one more
  --seed S                of the choice of the cuts (1)
  --workload CMD          run by sh, $1 is the mounted directory; `mark NAME` says NAME is done
  --check CMD             run by sh, $1 is the mounted directory after the cut, $2 a file with the
                          marks set before it, one a line; status 0: nothing was lost
  --size MIB              size of the disk (512)
  --mount-options OPTS    for both mounts
  --max-failures N        stop after N failed cuts (3)
  --expect fail           stop at the first failed cut, and fail if there is none (for mutants)
  --no-keep               do not keep the log after a failure
  --log DIR               take the log and the scratch folder kept by an earlier failure
  --cut SPEC              only this cut
  --bin DIR               where blocklog and replay are (where this script is)
Both commands see POWERCUT_DIR, POWERCUT_SCRATCH (a folder that the power cut does not touch) and
POWERCUT_MARK_FILE (writing NAME to it is what `mark` does).
END
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
bin=$here fs=ext4 cuts=50 seed=1 size=512 options='' max=3 expect=pass keep=yes
workload='' check='' kept='' only=''
while [ $# -gt 0 ]; do
    case $1 in
    --no-keep) keep=no && shift && continue ;;
    --*) [ $# -ge 2 ] || usage ;;
    *) usage ;;
    esac
    case $1 in
    --fs) fs=$2 ;;
    --cuts) cuts=$2 ;;
    --seed) seed=$2 ;;
    --workload) workload=$2 ;;
    --check) check=$2 ;;
    --size) size=$2 ;;
    --mount-options) options=$2 ;;
    --max-failures) max=$2 ;;
    --expect) expect=$2 ;;
    --log) kept=$(cd "$2" && pwd) || exit 2 ;;
    --cut) only=$2 ;;
    --bin) bin=$(cd "$2" && pwd) || exit 2 ;;
    *) usage ;;
    esac
    shift 2
done
if [ -z "$check" ] || [ -z "$workload$kept" ]; then usage; fi
[ -z "$kept" ] || fs=$(cat "$kept/log/fs") || exit 2

skip() {
    echo "powercut: skipped: $*"
    exit 77
}
broken() {
    echo "powercut: $*" >&2
    exit 2
}
[ "$(id -u)" = 0 ] || skip "needs root"
[ -c /dev/fuse ] || skip "no /dev/fuse"
[ -c /dev/loop-control ] || skip "no loop devices"
PATH=$PATH:/usr/sbin:/sbin
for tool in losetup "mkfs.$fs" blkid dd; do
    command -v "$tool" >/dev/null || skip "no $tool"
done

# A mount namespace of its own: whatever happens to this process, no mount outlives it.
if [ -z "${POWERCUT_NAMESPACE:-}" ] && unshare -m --propagation private true 2>/dev/null; then
    POWERCUT_NAMESPACE=1
    export POWERCUT_NAMESPACE
    set -- --fs "$fs" --cuts "$cuts" --seed "$seed" --size "$size" --max-failures "$max" \
        --expect "$expect" --bin "$bin" --check "$check"
    [ "$keep" = yes ] || set -- "$@" --no-keep
    [ -z "$workload" ] || set -- "$@" --workload "$workload"
    [ -z "$options" ] || set -- "$@" --mount-options "$options"
    [ -z "$kept" ] || set -- "$@" --log "$kept"
    [ -z "$only" ] || set -- "$@" --cut "$only"
    exec unshare -m --propagation private "$here/powercut.sh" "$@"
fi

work='' disk_loop='' cut_loop='' server='' child=''

unmount() {
    mountpoint -q "$1" || return 0
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        umount "$1" 2>/dev/null && return 0
        sleep 0.1
    done
    umount -l "$1" 2>/dev/null
    return 1
}

detach() {
    exec 9<&-
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -e "/sys/block/${1#/dev/}/loop/backing_file" ] || return 0
        sleep 0.05
    done
}

# shellcheck disable=SC2317
cleanup() {
    status=$?
    trap '' INT TERM HUP
    trap - EXIT
    [ -z "$child" ] || kill -KILL -- "-$child" 2>/dev/null
    if [ -n "$work" ]; then
        unmount "$work/cut"
        [ -z "$cut_loop" ] || detach "$cut_loop"
        unmount "$work/disk"
        [ -z "$disk_loop" ] || detach "$disk_loop"
        unmount "$work/fuse"
        [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null
        rm -rf "$work"
    fi
    exit "$status"
}
trap cleanup EXIT
end_on_signals() {
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}
end_on_signals

# Runs a command in its own process group, so that an interrupted run leaves nothing behind that
# holds a mount. The shell's wait, unlike a foreground command, gives way to a signal at once.
run() {
    setsid "$@" 9<&- &
    child=$!
    wait "$child"
    run_status=$?
    child=''
    return "$run_status"
}

# losetup -d of a device in use makes the kernel detach it at the last close. Descriptor 9 is that
# use, so the device goes when this process goes, even by SIGKILL. A signal that comes between
# losetup and the open waits.
attach() {
    loop='' pending=''
    trap 'pending=130' INT
    trap 'pending=143' TERM HUP
    for _ in 1 2 3 4 5; do
        if loop=$(trap '' INT TERM HUP && losetup -f --show "$1" 2>/dev/null); then
            exec 9<"$loop"
            losetup -d "$loop" 9<&-
            break
        fi
        sleep 0.2
    done
    end_on_signals
    [ -z "$pending" ] || exit "$pending"
    [ -n "$loop" ]
}

disk_figures() { # sectors written and zeroed, sectors discarded, flushes
    # shellcheck disable=SC2046
    set -- $(cat "/sys/block/${disk_loop#/dev/}/stat")
    [ $# -ge 17 ] && echo "$7 ${14} ${16}"
}

put_mark() {
    printf '%s' "$1" >"$work/fuse/mark" || broken "cannot set a mark"
}

mount_disk() { # loop directory
    mount -t "$fs" -o "${options:-defaults}" "$1" "$2" 9<&-
}

# What the whole method rests on, tried before each run: a write that the disk acknowledged is in
# the log at once and without a flush, and a flush of the disk arrives as one.
probe_disk() {
    put_mark powercut:probe-1
    dd if=/dev/urandom of="$disk_loop" bs=4096 count=1 oflag=direct 2>/dev/null || return 1
    put_mark powercut:probe-2
    dd if=/dev/null of="$disk_loop" bs=4096 count=0 conv=notrunc,fsync 2>/dev/null || return 1
    put_mark powercut:probe-3
    set -- "$("$bin/replay" "$log" info powercut:probe-1 powercut:probe-2)" \
        "$("$bin/replay" "$log" info powercut:probe-2 powercut:probe-3)"
    [ "$1" = "4096 0 0" ] && [ "$2" = "0 0 1" ]
}

# The block layer counts what it sent to the loop device; the log must have seen all of it.
compare_figures() { # figures before, figures after
    # shellcheck disable=SC2086,SC2046
    set -- $1 $2 $("$bin/replay" "$log" info powercut:attached powercut:detach)
    [ $# = 9 ] || return 0 # a kernel without these counters
    [ $((($4 - $1 + $5 - $2) * 512)) = $(($7 + $8)) ] && [ $(($6 - $3)) = "$9" ]
}

make_fs() {
    case $fs in
    ext4) mkfs.ext4 -q -F -b 4096 "$1" ;;
    btrfs) mkfs.btrfs -q -f "$1" ;;
    xfs) mkfs.xfs -q -f "$1" ;;
    esac >"$work/mkfs" 2>&1 9<&- || { cat "$work/mkfs" >&2 && broken "mkfs.$fs failed"; }
}

record() {
    truncate -s "${size}M" "$work/backing" || broken "no room"
    echo $((size << 20)) >"$log/size"
    echo "$fs" >"$log/fs"
    "$bin/blocklog" "$work/backing" "$log" "$work/fuse" 9<&- &
    server=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ -e "$work/fuse/image" ] && break
        sleep 0.1
    done
    [ -e "$work/fuse/image" ] || broken "blocklog does not start"
    attach "$work/fuse/image" || broken "no free loop device"
    disk_loop=$loop
    [ "$(cat "/sys/block/${disk_loop#/dev/}/queue/write_cache")" = "write back" ] ||
        broken "the loop device does not pass flushes on"
    probe_disk || broken "writes or flushes of the loop device do not reach the log in order"

    put_mark powercut:attached
    before=$(disk_figures)
    make_fs "$disk_loop"
    mount_disk "$disk_loop" "$work/disk" || broken "cannot mount the new $fs"
    sync -f "$work/disk"
    put_mark powercut:begin
    run env POWERCUT_DIR="$work/disk" PATH="$here:$PATH" \
        sh -c "$workload" workload "$work/disk" || broken "the workload failed ($run_status)"
    put_mark powercut:end
    unmount "$work/disk" || broken "the workload left something that holds the mount"
    put_mark powercut:detach
    after=$(disk_figures)
    detach "$disk_loop"
    disk_loop=''
    unmount "$work/fuse" || broken "cannot unmount blocklog"
    wait "$server" || broken "blocklog failed"
    server=''

    compare_figures "$before" "$after" || broken "the log misses writes or flushes"
    "$bin/replay" "$log" verify "$work/backing" || broken "the log is not complete"
    rm -f "$work/backing"
}

# The ranges that each of these file systems needs to be written whole: superblocks
# that are found at a fixed place and carry one checksum over more than 512 bytes.
atomic_ranges() {
    case $fs in
    ext4) echo 0:4096 ;;
    btrfs) echo 65536:4096 67108864:4096 ;;
    esac
}

repeat_line() { # cut
    if [ -n "$kept" ]; then
        printf 'repeat: %s --bin %s --log %s --cut %s --check %s\n' "$here/powercut.sh" "$bin" \
            "$kept" "$1" "$(quote "$check")"
    else
        printf 'repeat: %s --bin %s --fs %s --cuts %s --seed %s --workload %s --check %s\n' \
            "$here/powercut.sh" "$bin" "$fs" "$cuts" "$seed" "$(quote "$workload")" \
            "$(quote "$check")"
    fi
}

quote() {
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

keep_log() {
    [ "$keep" = yes ] && [ -z "$kept" ] || return 0
    kept=$(mktemp -d "${TMPDIR:-/tmp}/powercut-kept.XXXXXX") || broken "cannot keep the log"
    cp -a "$log" "$POWERCUT_SCRATCH" "$kept/" || broken "cannot keep the log"
}

# Status 0 passed, 1 the check failed, 2 the file system itself did not survive
try_cut() { # cut
    # shellcheck disable=SC2046
    "$bin/replay" "$log" build "$1" "$work/base" "$work/cut.img" "$work/marks" \
        $(atomic_ranges) || broken "replay failed"
    attach "$work/cut.img" || broken "no free loop device"
    cut_loop=$loop
    [ "$fs" != btrfs ] || btrfs device scan --forget >/dev/null 2>&1
    if mount_disk "$cut_loop" "$work/cut" 2>"$work/output"; then
        run env POWERCUT_DIR="$work/cut" POWERCUT_MARKS="$work/marks" \
            sh -c "$check" check "$work/cut" "$work/marks" >"$work/output" 2>&1
        result=$?
        [ "$result" = 0 ] || result=1
        unmount "$work/cut" || broken "the check left something that holds the mount"
    else
        result=2
    fi
    detach "$cut_loop"
    cut_loop=''
    return "$result"
}

replay_cuts() {
    done_cuts=0 failures=0 unmountable=0
    for cut in ${only:-$("$bin/replay" "$log" plan "$cuts" "$seed")}; do
        try_cut "$cut"
        result=$?
        done_cuts=$((done_cuts + 1))
        [ "$result" = 0 ] && continue
        if [ "$expect" = fail ] && [ "$result" = 1 ]; then
            echo "powercut: $fs: caught at cut $done_cuts ($cut): $(head -n 1 "$work/output")"
            exit 0
        fi
        keep_log
        if [ "$result" = 2 ]; then
            unmountable=$((unmountable + 1))
            echo "UNMOUNTABLE $fs cut $cut"
        else
            failures=$((failures + 1))
            echo "FAILED $fs cut $cut, $(wc -l <"$work/marks") marks"
        fi
        sed 's/^/    /' "$work/output" | head -n 20
        repeat_line "$cut"
        [ $((failures + unmountable)) -lt "$max" ] || break
    done
    echo "powercut: $fs: $done_cuts cuts, $failures failed, $unmountable unmountable," \
        "seed $seed, $("$bin/replay" "$log" info | tr '\n' ' ')(bytes written, zeroed, flushes)"
    if [ "$expect" = fail ]; then
        echo "powercut: $fs: NOT caught within $done_cuts cuts"
        exit 1
    fi
    [ "$failures" = 0 ] || exit 1
    [ "$unmountable" = 0 ] || exit 2
}

folder=${POWERCUT_TMPDIR:-/dev/shm}
[ -d "$folder" ] && [ -w "$folder" ] || folder=${TMPDIR:-/tmp}
work=$(mktemp -d "$folder/powercut.XXXXXX") || broken "no folder to work in"
mkdir "$work/log" "$work/scratch" "$work/fuse" "$work/disk" "$work/cut" || broken "no room"
log=${kept:-$work}/log
POWERCUT_SCRATCH=${kept:-$work}/scratch
POWERCUT_MARK_FILE=$work/fuse/mark
export POWERCUT_SCRATCH POWERCUT_MARK_FILE

[ -n "$kept" ] || record
replay_cuts
