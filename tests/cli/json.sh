#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --json prints one object a line on standard output, the summary last, and nothing else.
. "$(dirname "$0")/lib.sh"

need_python
make_tree "$src"
valid() {
    [ ! -s err ] || fail "standard error is not empty: $*"
    python3 - "$@" 3<out <<'PYTHON' || fail "not as it should be: $*"
import json, os, sys
lines = os.fdopen(3, "rb").read().decode("utf-8").splitlines()
assert lines
for line in lines:
    assert isinstance(json.loads(line)["message_type"], str)
last = json.loads(lines[-1])
assert last["message_type"] == sys.argv[1], last
assert sum(json.loads(line)["message_type"] == sys.argv[1] for line in lines) == 1
for name in sys.argv[2:]:
    assert name in last, name
PYTHON
}
expect 0 "$CAIRN" --json init
valid initialized id
expect 0 "$CAIRN" --json backup "$src"
valid summary files_new files_changed files_unmodified dirs_new data_added total_files_processed \
    total_bytes_processed total_duration snapshot_id
expect 0 "$CAIRN" --json -v backup "$src"
valid summary
expect 0 "$CAIRN" snapshots --json
valid summary snapshots
expect 0 "$CAIRN" ls -R --json latest
valid summary nodes
grep -q '"path_hex":"[0-9a-f]*fffe' out || fail "a name that is not UTF-8 has no exact form"
expect 0 "$CAIRN" check --read-data --json
valid summary num_errors
expect 0 "$CAIRN" restore latest --json --target "$work/target"
valid summary files_restored bytes_restored
expect 0 "$CAIRN" version --json
valid version version
