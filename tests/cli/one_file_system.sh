#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With --one-file-system mounts below a given path are stored as empty directories, and without it
# those of the kernel's own file systems still are.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "mounting needs root"
command -v unshare >/dev/null || skip "unshare is not installed"
unshare -m true 2>/dev/null || skip "no mount namespace can be made"

mkdir -p "$src"/{tmp,proc,here}
touch "$src/here/f"
"$CAIRN" init -q
cat >inside.sh <<'E2'
set -e
mount -t tmpfs tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
touch "$1/tmp/f"
"$CAIRN" backup -q "$1"
"$CAIRN" ls -R "latest:$1" >all
"$CAIRN" backup -q -x "$1"
"$CAIRN" ls -R "latest:$1" >one
"$CAIRN" backup -q -x "$1/tmp" "$1/proc/sys/kernel/random"
"$CAIRN" ls -R "latest:$1" >given
E2
expect 0 unshare -m bash inside.sh "$src"
[ "$(sed "s|^$src/||" all | tr '\n' ' ')" = "here here/f proc tmp tmp/f " ] || fail "all: $(cat all)"
[ "$(sed "s|^$src/||" one | tr '\n' ' ')" = "here here/f proc tmp " ] || fail "one: $(cat one)"
grep -q "^$src/tmp/f$" given || fail "a given path was left out: $(cat given)"
grep -q "^$src/proc/sys/kernel/random/boot_id$" given || fail "a given path was left out: $(cat given)"
