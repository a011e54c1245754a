#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check finds every object that is missing, and the others stay usable.
. "$(dirname "$0")/lib.sh"

make_backup
expect 0 "$CAIRN" check --read-data
cp -a "$CAIRN_REPO" good
find good -type f -not -path '*/tmp/*' | sed 's|^good/||' | sort >objects
[ "$(wc -l <objects)" -ge 6 ] || fail "too few objects"
while read -r object <&3; do
    rm "$CAIRN_REPO/$object"
    status=0
    "$CAIRN" check >out 2>err || status=$?
    case "$object" in
    config) wanted="10" ;;
    keys/*) wanted="4 12" ;;
    *) wanted="4" ;;
    esac
    [[ " $wanted " == *" $status "* ]] || fail "exit status $status without $object"
    [ -s err ] || fail "no reason"
    cp -a "good/$object" "$CAIRN_REPO/$object"
done 3<objects
expect 0 "$CAIRN" check --read-data
