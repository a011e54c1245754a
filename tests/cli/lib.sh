# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share. Each test sources this file, works in a private folder
# ($work) and tests one behaviour. Exit status: 0 passed, 77 skipped, anything else failed.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

: "${CAIRN:?the path of the command}"
export LC_ALL=C TZ=UTC
umask 022
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-test.XXXXXX")
chmod 755 "$work"
export HOME=$work/home XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state
export CAIRN_REPO=$work/repo CAIRN_KEY_FILE=$work/key
unset CAIRN_PASSWORD CAIRN_PASSWORD_FILE CAIRN_PASSWORD_COMMAND CAIRN_CACHE_DIR
mkdir "$HOME"
cd "$work"
src=$work/src

finish() {
    local status=$?
    if [ "$status" != 0 ] && [ "$status" != 77 ]; then
        echo "FAILED. Run it again: CAIRN=$CAIRN TREECMP=${TREECMP:-} bash $0"
    fi
    chmod -R u+rwX "$work" 2>/dev/null || true
    rm -rf "$work"
    exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

fail() {
    echo "FAIL: $*"
    [ ! -s "$work/err" ] || sed 's/^/stderr: /' "$work/err" | tail -n 20
    exit 1
}

skip() {
    echo "SKIP: $*"
    exit 77
}

# expect STATUS COMMAND...: runs it; its output is in out and err afterwards.
expect() {
    local wanted=$1 got=0
    shift
    "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
    [ "$got" = "$wanted" ] || fail "exit status $got instead of $wanted: $*"
}

# says PATTERN: the last command gave one line of reason on standard error that matches.
says() {
    [ "$(grep -c '^cairn: ' "$work/err")" = 1 ] || fail "not one line of reason"
    grep -Eq -- "^cairn: .*($1)" "$work/err" || fail "the reason does not match: $1"
}

# silent: the last command said nothing on standard error.
silent() {
    [ ! -s "$work/err" ] || fail "standard error is not empty"
}

# make_tree DIR: a small tree with most of what a file system has.
make_tree() {
    mkdir -p "$1/dir/deeper" "$1/empty"
    printf 'hello\n' >"$1/hello"
    : >"$1/nothing"
    seq 1 200000 >"$1/dir/numbers"
    head -c 3000000 /dev/urandom >"$1/dir/random"
    head -c 3000000 "$1/dir/random" >"$1/dir/deeper/copy"
    for i in $(seq 1 60); do echo "small file $i" >"$1/dir/deeper/small$i"; done
    ln "$1/hello" "$1/dir/hard link"
    ln -s ../hello "$1/dir/symlink"
    ln -s /nowhere/at/all "$1/dangling"
    mkfifo "$1/fifo"
    truncate -s 20M "$1/sparse"
    printf 'data in the middle' | dd of="$1/sparse" bs=1 seek=10000000 conv=notrunc status=none
    printf 'x' >"$1/"$'new\nline'
    printf 'y' >"$1/"$'bad\xff\xfeutf8'
    chmod 640 "$1/hello"
    chmod 4755 "$1/nothing"
    chmod 1777 "$1/empty"
    touch -d '1971-02-03 04:05:06.123456789' "$1/dir/numbers"
    touch -d '2106-03-04 05:06:07.000000001' "$1/dir/deeper"
    if command -v setfattr >/dev/null; then
        setfattr -n user.note -v 'a value' "$1/hello" 2>/dev/null || true
        setfattr -n user.note -v 'of a directory' "$1/dir" 2>/dev/null || true
    fi
    if command -v setfacl >/dev/null; then
        setfacl -m u:1:r "$1/hello" 2>/dev/null || true
        setfacl -d -m u:1:rx "$1/empty" 2>/dev/null || true
    fi
}

# same A B: nothing distinguishes the two trees.
same() {
    diff -r --no-dereference -x fifo "$1" "$2" || fail "diff finds differences"
    if command -v rsync >/dev/null; then
        local differences
        differences=$(rsync -aHAXnci --delete "$1/" "$2/") || fail "rsync cannot compare"
        [ -z "$differences" ] || fail "rsync finds differences: $differences"
    fi
    if [ -n "${TREECMP:-}" ]; then
        "$TREECMP" "$1" "$2" || fail "treecmp finds differences"
    fi
}

# A repository with a tree backed up once.
make_backup() {
    make_tree "$src"
    expect 0 "$CAIRN" init
    expect 0 "$CAIRN" backup "$src"
}

# field NAME < LINES: the field of the last JSON object.
field() {
    python3 -c '
import json, sys
lines = sys.stdin.buffer.read().decode().splitlines()
value = json.loads(lines[-1]).get(sys.argv[1])
print("" if value is None else value)' "$1"
}

need_python() {
    command -v python3 >/dev/null || skip "there is no python3"
}

# flip FILE OFFSET: inverts one byte.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059
    printf "\\$(printf '%03o' $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# as_nobody COMMAND...: without root's power to read everything. The whole of $work becomes nobody's
# first, where we are root.
as_nobody() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

give_to_nobody() {
    if [ "$(id -u)" = 0 ]; then
        command -v setpriv >/dev/null || skip "there is no setpriv"
        as_nobody test -x "$CAIRN" || skip "nobody may not run $CAIRN"
        chown -R 65534:65534 "$work"
    fi
}
