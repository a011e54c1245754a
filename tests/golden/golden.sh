#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository of format version 1 that was made once is still read: golden.sh NAME READER, where
# READER is key, password (the command, opened with it) or rescue (tools/rescue.py).
golden=$(readlink -f "$(dirname "$0")")
name=$1 reader=$2
. "$golden/../cli/lib.sh"
need_python
echo "golden.sh $name $reader" # how to run it again

mkdir "$CAIRN_REPO"
tar -C "$CAIRN_REPO" -xf "$golden/$name.tar"
mkdir -p "$CAIRN_REPO/tmp"
cp "$golden/key" "$CAIRN_KEY_FILE"
printf 'golden\n' >"$work/password"
chmod 600 "$CAIRN_KEY_FILE" "$work/password"
case "$name-$reader" in
none-*) unset CAIRN_KEY_FILE ;;
*-password)
    unset CAIRN_KEY_FILE
    export CAIRN_PASSWORD_FILE=$work/password
    ;;
esac

# Where the file system takes no attributes of users, they cannot come back.
listing=(/usr/bin/python3 "$golden/listing.py")
: >"$work/probe"
attributes=yes
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.x", b"y")' "$work/probe" 2>/dev/null || attributes=no

restored() {
    local wanted=$golden/tree.list
    local -a how=()
    if [ "$attributes" = no ]; then
        how=(--no-xattrs)
        sed 's/ user\..*//' "$wanted" >"$work/wanted"
        wanted=$work/wanted
    fi
    "${listing[@]}" "$1" "${how[@]}" >"$work/listed"
    diff -u "$wanted" "$work/listed" || fail "what was restored is not what was stored"
}

restore() {
    local wanted=0
    [ "$attributes" = yes ] || wanted=3
    expect "$wanted" "$@"
}

if [ "$reader" = rescue ]; then
    rescue=(/usr/bin/python3 "$golden/../../tools/rescue.py" -r "$CAIRN_REPO")
    [ -z "${CAIRN_KEY_FILE:-}" ] || rescue+=(--key-file "$CAIRN_KEY_FILE")
    "${rescue[@]}" snapshots >"$work/out" 2>"$work/err" || {
        ! grep -Eq 'python3-|No module' "$work/err" || skip "$(tail -n 1 "$work/err")"
        fail "the rescue reader cannot list the snapshots"
    }
    expect 0 "${rescue[@]}" check
    restore "${rescue[@]}" restore latest --target "$work/rescued"
    restored "$work/rescued/tmp/cairn-golden/tree"
    exit 0
fi

expect 0 "$CAIRN" snapshots --json
[ "$(grep -c '"tags"' "$work/out")" = 2 ] || fail "there are not two snapshots"
expect 0 "$CAIRN" ls latest:/tmp/cairn-golden/tree
grep -q 'several chunks' "$work/out" || fail "ls misses a file"
expect 0 "$CAIRN" cat 'latest:/tmp/cairn-golden/tree/inline'
[ "$(cat "$work/out")" = hello ] || fail "cat prints something else"
expect 0 "$CAIRN" check --read-data
restore "$CAIRN" restore latest:/tmp/cairn-golden/tree --target "$work/restored" --verify
restored "$work/restored"
# It can still be written to.
expect 0 "$CAIRN" backup "$work/restored"
expect 0 "$CAIRN" check
