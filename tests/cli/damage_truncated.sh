#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check finds every object that is truncated or emptied.
. "$(dirname "$0")/lib.sh"

make_backup
cp -a "$CAIRN_REPO" good
find good -type f -not -path '*/tmp/*' | sed 's|^good/||' | sort >objects
while read -r object <&3; do
    size=$(stat -c %s "good/$object")
    for length in 0 1 $((size / 2)) $((size - 1)); do
        truncate -s "$length" "$CAIRN_REPO/$object"
        status=0
        "$CAIRN" check >out 2>err || status=$?
        case "$object" in
        config) wanted="1 4 10" ;;
        keys/*) wanted="4 12" ;;
        *) wanted="4" ;;
        esac
        [[ " $wanted " == *" $status "* ]] ||
            fail "exit status $status with $object cut from $size to $length bytes"
        cp -a "good/$object" "$CAIRN_REPO/$object"
    done
done 3<objects
expect 0 "$CAIRN" check --read-data
