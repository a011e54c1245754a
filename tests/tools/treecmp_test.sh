#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# treecmp_test.sh TREECMP: treecmp finds equal trees equal, and finds each kind of difference, and
# nothing but that difference. The parts that need root work on an ext4 image of their own; without
# root the rest is run and the status is 77.
set -u
[ $# = 1 ] || { echo "usage: treecmp_test.sh TREECMP" >&2 && exit 2; }
treecmp=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d "${TMPDIR:-/tmp}/treecmp.XXXXXX") || exit 2
mounted=no
# shellcheck disable=SC2317
cleanup() {
    cd /
    [ "$mounted" = no ] || umount "$work/disk"
    mountpoint -q "$work/xfs" && umount "$work/xfs"
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

root=no
mkdir "$work/disk" || exit 2
if [ "$(id -u)" = 0 ] && [ -e /dev/loop-control ] && command -v mkfs.ext4 >/dev/null; then
    truncate -s 64M "$work/image" &&
        mkfs.ext4 -q -F -b 4096 -I 256 "$work/image" &&
        mount -o loop "$work/image" "$work/disk" && mounted=yes root=yes
fi
mkdir "$work/disk/t" && cd "$work/disk/t" || exit 2

bad=0 done=0
not_ok() {
    bad=$((bad + 1))
    echo "not ok: $*"
    sed 's/^/    /' "$work/output"
}

make_tree() { # directory: the same tree each time, but for the inode numbers
    mkdir -p "$1/d/e" "$1/only" || exit 2
    echo content >"$1/file"
    printf 'one' >"$1/d/e/small"
    ln "$1/file" "$1/d/hard"
    echo other >"$1/second" && ln "$1/second" "$1/d/hard2"
    ln -s some/where "$1/link"
    mkfifo "$1/fifo"
    printf x | dd of="$1/sparse" bs=1 seek=8000000 2>/dev/null
    echo strange >"$1/$(printf 'new\nline\033[1m\377')"
    [ "$root" = no ] || mknod "$1/device" c 1 3
    find "$1" -depth -exec touch -h -d '2001-02-03 04:05:06.789012345' {} +
}

settle() { # gives every directory its mtime back after a change inside it
    find a b -depth -type d -exec touch -d '2001-02-03 04:05:06.789012345' {} +
}

fresh() {
    rm -rf a b
    make_tree a
    make_tree b
}

expect() { # status, options...: runs treecmp with these options on a and b
    want=$1
    shift
    "$treecmp" "$@" a b >"$work/output" 2>&1
    status=$?
    done=$((done + 1))
    [ "$status" = "$want" ] || not_ok "status $status instead of $want: $what"
}

# A change to b that must give exactly the lines that start with these words, and none with
# --ignore of the attribute.
finds() { # what, attribute, the lines' starts joined by '|', command
    what=$1
    fresh
    (cd b && sh -c "$4") || {
        not_ok "cannot make the change: $what"
        return
    }
    settle
    expect 1
    lines=$(grep -v '^treecmp: ' "$work/output" | sed 's/:.*//' | sort | paste -sd '|' -)
    [ "$lines" = "$3" ] || not_ok "$what gives '$lines'"
    [ "$2" = - ] && return
    expect 0 --ignore "$2"
}

same='touch -h -d "2001-02-03 04:05:06.789012345"'

what="equal trees" && fresh && expect 0
what="a tree with itself" && rm -rf b && ln -s a b && expect 0 && rm b
what="a missing tree" && expect 2
what="an unknown attribute" && fresh && expect 2 --ignore nonsense

finds "a missing file" - 'name ./d/e/small' 'rm d/e/small'
finds "one more directory" - 'name ./d/more' 'mkdir d/more'
finds "a strange name" - 'name ./new\nline\x1b[1m\xff' 'rm new*'
finds "another type" - 'type ./link' "rm link; echo a >link; $same link"
finds "a mode" mode 'mode ./d/e/small' 'chmod 640 d/e/small'
finds "a setuid bit of a directory" mode 'mode ./d/e' 'chmod g+s d/e'
finds "the mode of the root" mode 'mode .' 'chmod 700 .'
finds "a size" size 'size ./d/e/small' "printf longer >d/e/small; $same d/e/small"
finds "one nanosecond" mtime 'mtime ./fifo' 'touch -d "2001-02-03 04:05:06.789012346" fifo'
finds "the mtime of a symlink" mtime 'mtime ./link' 'touch -h -d "1960-01-01" link'
finds "the target of a symlink" target 'target ./link' "rm link; ln -s some/wherf link; $same link"
finds "bytes" data 'data ./d/e/small' "printf two >d/e/small; $same d/e/small"
finds "bytes in a hole" data 'data ./sparse' \
    "printf y | dd of=sparse bs=1 seek=5000000 conv=notrunc 2>/dev/null; $same sparse"
finds "a broken hard link" links 'links ./file' \
    "cp -p file x; rm file; mv x file; $same file"
finds "an exchanged hard link" data,links,size 'data ./d/hard|links ./file' \
    "rm d/hard; cp file x; printf 'contenT\n' >x; mv x d/hard; $same d/hard"
finds "a filled hole" extents 'extents ./sparse' \
    "cp --sparse=never sparse x; mv x sparse; $same sparse"

what="a filled hole and --no-extents" && expect 0 --no-extents
what="a filled hole and a large slack" && expect 0 --slack 100000000
what="--skip-holes sees data" && fresh && printf y |
    dd of=b/sparse bs=1 seek=5000000 conv=notrunc 2>/dev/null
touch -d '2001-02-03 04:05:06.789012345' b/sparse
expect 1 --skip-holes --no-extents
what="mtime of a directory" && fresh && touch b/d/e && expect 1

# 30 levels of 200 bytes are longer than a path may be; the difference lies at the bottom.
what="a deep tree"
fresh
name=$(printf '%0200d' 0)
for side in a b; do (
    cd $side/only || exit 2
    for _ in $(seq 30); do
        mkdir "$name" && cd -P "./$name" || exit 2
    done
    echo $side >bottom
    ln -s $side target
); done
expect 1 --ignore mtime
[ "$(grep -c -e '^data .*/bottom: ' -e '^target .*/target: ' "$work/output")" = 2 ] ||
    not_ok "nothing found at the bottom of a deep tree"

if [ "$root" = yes ]; then
    finds "an owner" uid 'uid ./fifo' 'chown 4294967294 fifo'
    finds "a group of a symlink" gid 'gid ./link' 'chgrp -h 77 link'
    finds "a device number" rdev 'rdev ./device' "rm device; mknod device c 1 5; $same device"
    finds "a device type" - 'type ./device' "rm device; mknod device b 1 3; $same device"
    finds "a flag of a file" flags 'flags ./d/e/small' 'chattr +d d/e/small'
    finds "a flag of a directory" flags 'flags ./d/e' 'chattr +A d/e'
    finds "a user attribute" xattr 'xattr ./d/e/small' 'setfattr -n user.a -v 1 d/e/small'
    finds "a trusted attribute of a symlink" xattr=trusted.a 'xattr ./link' \
        'setfattr -h -n trusted.a -v 1 link'
    finds "an attribute of a fifo" xattr 'xattr ./fifo' 'setfattr -n trusted.a -v 1 fifo'
    finds "a capability" xattr=security.capability 'xattr ./d/e/small' \
        'setcap cap_net_raw+ep d/e/small'
    finds "a default ACL" xattr 'xattr ./d/e' 'setfacl -d -m u:77:r d/e'
    what="the value of an attribute" && fresh
    setfattr -n user.a -v 1 a/file && setfattr -n user.a -v 2 b/file && expect 1
    expect 0 --ignore xattr
    what="the same ACL" && fresh && setfacl -m u:77:r a/second b/second && expect 0
fi

# Project ids: xfs has them on every kernel, ext4 only with quota built in.
if [ "$root" = yes ] && command -v mkfs.xfs >/dev/null && command -v xfs_io >/dev/null &&
    mkdir "$work/xfs" && truncate -s 512M "$work/xfs.image" &&
    mkfs.xfs -q "$work/xfs.image" && mount -o loop "$work/xfs.image" "$work/xfs"; then
    cd "$work/xfs" || exit 2
    what="the same project" && fresh
    xfs_io -c 'chproj 7' a/d/e/small && xfs_io -c 'chproj 7' b/d/e/small && expect 0
    what="a project"
    xfs_io -c 'chproj 8' b/d/e/small && expect 1
    grep -q '^projid ./d/e/small: 7 and 8$' "$work/output" || not_ok "$what"
    expect 0 --ignore projid
fi

echo "$done comparisons, $bad not as expected"
[ "$bad" = 0 ] || exit 1
[ "$root" = yes ] || exit 77
