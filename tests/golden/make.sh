#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the golden repositories anew: make.sh CAIRN. Only before a format version is released, or for
# a new one: what was written once must stay readable.
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC
cairn=$(readlink -f "${1:?the path of the command}")
here=$(dirname "$(readlink -f "$0")")

# A fixed place, because snapshots hold the whole path.
work=/tmp/cairn-golden
rm -rf "$work"
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
mkdir -p "$work/home" "$work/packed"
export HOME=$work/home XDG_CACHE_HOME=$work/cache XDG_STATE_HOME=$work/state
unset CAIRN_REPO CAIRN_KEY_FILE CAIRN_PASSWORD CAIRN_PASSWORD_FILE CAIRN_PASSWORD_COMMAND CAIRN_CACHE_DIR

tree=$work/tree
mkdir -p "$tree/odd names" "$tree/deep/er/and/deeper" "$tree/no entries"
: >"$tree/empty"
printf 'hello\n' >"$tree/inline"
awk 'BEGIN { for (i = 0; i < 200; i++) print "one chunk", i }' >"$tree/one chunk"
awk 'BEGIN { for (i = 0; i < 24000; i++) print "several chunks", int(i / 40) % 331, i % 7 }' >"$tree/several chunks"
head -c 100000 "$tree/several chunks" >"$tree/deep/er/the same beginning"
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(20000))' >"$tree/noise"
ln "$tree/inline" "$tree/deep/hard link"
ln "$tree/several chunks" "$tree/deep/another hard link"
ln -s ../inline "$tree/deep/symlink"
ln -s "/nowhere/$(printf '%0200d' 7)" "$tree/deep/dangling"
mkfifo "$tree/fifo"
truncate -s 3M "$tree/sparse"
printf 'data between holes' | dd of="$tree/sparse" bs=1 seek=1500000 conv=notrunc status=none
truncate -s 200000 "$tree/only a hole"
for name in ' ' '-rf' '...' $'new\nline' $'tab\t' $'\xff\xfe not UTF-8' $'\x01\x1b[2J' 'back\slash' \
    $'caf\xc3\xa9' "$(printf 'n%.0s' $(seq 1 255))"; do
    printf 'in %q\n' "$name" >"$tree/odd names/$name"
done
for i in $(seq 1 120); do printf '%d\n' "$i" >"$tree/deep/er/and/deeper/file $i"; done
setfattr -n user.golden -v 'a value' "$tree/inline"
setfattr -n user.large -v "$(printf '%02000d' 5)" "$tree/one chunk"
setfattr -n user.golden -v 'of a directory' "$tree/deep"
chmod 4755 "$tree/empty"
chmod 0000 "$tree/one chunk"
chmod 0640 "$tree/sparse"
chmod 1777 "$tree/no entries"
find "$tree" -depth -exec touch -h -d '2026-02-03 04:05:06.123456789' {} +
touch -d '1969-12-31 23:59:58.000000001' "$tree/inline"
touch -d '2106-03-04 05:06:07' "$tree/deep"

printf 'golden\n' >"$work/password"
chmod 600 "$work/password"
"$here/listing.py" "$tree" >"$work/tree.list"

for encryption in aes-256-gcm chacha20-poly1305 none; do
    for chunker in dynamic fixed; do
        name=$encryption-$chunker
        repo=(-r "$work/$name")
        if [ "$encryption" = none ]; then
            "$cairn" "${repo[@]}" -q init --encryption none --chunker "$chunker" --chunk-size 64K
        else
            "$cairn" "${repo[@]}" --key-file "$work/key" --password-file "$work/password" -q \
                init --encryption "$encryption" --chunker "$chunker" --chunk-size 64K
            repo+=(--key-file "$work/key")
        fi
        # Two snapshots: the first lacks a file, so that the second adds to what is there.
        mv "$tree/deep/er/the same beginning" "$work/away"
        "$cairn" "${repo[@]}" -q backup "$tree" --host golden --tag first
        mv "$work/away" "$tree/deep/er/the same beginning"
        touch -d '2026-02-03 04:05:06.123456789' "$tree/deep/er"
        "$cairn" "${repo[@]}" -q backup "$tree" --host golden --tag second
        # tmp/ is no part of a repository; 256 directories below packs/ would only take room.
        (cd "$work/$name" && find . -mindepth 1 -path ./tmp -prune -o '(' -type f -o -type d ! -path './packs/*' ')' -print0 |
            sort -z) |
            tar -C "$work/$name" --no-recursion --null -T - --owner=0 --group=0 --numeric-owner \
            --mtime='2026-02-03 04:05:06' --blocking-factor=1 -cf "$work/packed/$name.tar"
        [ "$(stat -c %s "$work/packed/$name.tar")" -lt 153600 ] || {
            echo "$name.tar is too large" >&2
            exit 1
        }
    done
done
cp "$work"/packed/*.tar "$work/tree.list" "$here/"
cp "$work/key" "$here/key"
chmod 644 "$here/key"
ls -l "$here"
