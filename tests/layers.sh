#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reads every #include line and fails on one that runs against the direction of the layers
# (docs/architecture.md). First it makes sure that it would notice.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

# Folder, then the folders of src/ whose headers it may include.
readonly rules="\
src/base: base
src/crypto: base crypto
src/chunker: base chunker
src/codec: base codec
src/backend: base backend
src/store: base crypto chunker codec backend store
src/snapshot: base crypto chunker codec backend store snapshot
src/source: base crypto chunker codec backend store source
src/engine: base crypto chunker codec backend store snapshot source engine
src/catalog: base crypto chunker codec backend store snapshot source catalog
src/filecopy: base crypto chunker codec backend store snapshot source filecopy
cli: base
mount: base
sqlite: base
bench: base
include/cairn: "

# Prints each edge of the tree below $1 that no rule allows. One process: forking for each file takes
# longer than reading them all.
violations() {
    (cd "$1" && find src cli mount sqlite bench include -name '*.[ch]' 2>/dev/null || true) | sort |
        awk -v rules="$rules" -v top="$1" '
            BEGIN {
                count = split(rules, line, "\n")
                for (i = 1; i <= count; i++) {
                    at = index(line[i], ":")
                    allowed[substr(line[i], 1, at - 1)] = substr(line[i], at + 1) " "
                }
            }
            {
                file = $0
                folder = file
                sub("/[^/]*$", "", folder)
                if (!(folder in allowed)) {
                    print file ": the folder " folder " is in no layer"
                    next
                }
                while ((getline text < (top "/" file)) > 0) {
                    if (text !~ /^[ \t]*#[ \t]*include[ \t]*"/)
                        continue
                    split(text, part, "\"")
                    header = part[2]
                    # A header with a slash names a layer; one without stays in its folder.
                    if (index(header, "/") == 0) {
                        there = top "/" folder "/" header
                        if ((getline unused < there) < 0)
                            print file ": \"" header "\" is not in " folder
                        close(there)
                    } else {
                        layer = substr(header, 1, index(header, "/") - 1)
                        if (index(allowed[folder], " " layer " ") == 0)
                            print file ": must not include \"" header "\""
                    }
                }
                close(top "/" file)
            }'
}

self_test() {
    local tree found
    tree=$(mktemp -d)
    mkdir -p "$tree/src/base" "$tree/src/store" "$tree/src/codec" "$tree/src/strange" "$tree/cli"
    echo '#include "store/store.h"' >"$tree/src/base/up.c"
    echo '  #  include "crypto/aead.h" /* x */' >"$tree/src/codec/across.c"
    echo '#include "engine/repo.h"' >"$tree/cli/deep.c"
    echo '#include "../store/store.h"' >"$tree/src/base/around.c"
    echo '#include "hidden.h"' >"$tree/src/base/elsewhere.c"
    : >"$tree/src/strange/new.c"
    printf '#include "base/error.h"\n#include <cairn/cairn.h>\n' >"$tree/src/store/fine.c"
    found=$(violations "$tree" | cut -d : -f 1 | tr '\n' ' ')
    rm -rf "$tree"
    [ "$found" = "cli/deep.c src/base/around.c src/base/elsewhere.c src/base/up.c src/codec/across.c src/strange/new.c " ] ||
        { echo "the test itself misses wrong includes; it found: $found"; exit 1; }
}

self_test
found=$(violations .)
if [ -n "$found" ]; then
    printf '%s\n' "$found"
    exit 1
fi
echo "every #include follows the layers"
