#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Random patterns leave out what git leaves out with the same lines in a .gitignore.
. "$(dirname "$0")/lib.sh"
command -v git >/dev/null || skip "git is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"

unset CAIRN_KEY_FILE
"$CAIRN" init -q --encryption none
cat >make.py <<'P'
import os, random, sys
# Not "a**": git 2.39 takes it for more than its documentation says.
seed, top = int(sys.argv[1]), sys.argv[2]
r = random.Random(seed)
names = ["a", "b", "ab", "ba", "a.b", ".a", "aa", "c d", "-", "]"]
parts = ["a", "b", "ab", "*", "?", "a*", "*b", "[ab]", "[!a]", "**", ".a", "a?b", "*.*", "[a-b]*",
         "[]-]", "\\a", "c d", "[[:alpha:]]"]
def fill(path, depth):
    for name in r.sample(names, r.randint(1, 5)):
        child = os.path.join(path, name)
        if depth < 4 and r.random() < 0.55:
            os.mkdir(child)
            fill(child, depth + 1)
        else:
            open(child, "w").close()
os.mkdir(top)
fill(top, 0)
with open(top + ".patterns", "w") as f:
    for _ in range(r.randint(1, 6)):
        line = "/".join(r.choice(parts) for _ in range(r.choice([1, 1, 1, 2, 2, 3, 4])))
        line = r.choice(["", "", "/", "!", "!/"]) + line + r.choice(["", "", "", "/"])
        f.write(line + "\n")
P
# git's own answer: everything that is not ignored, and the directories above it.
cat >git.py <<'P'
import os, subprocess, sys
top = sys.argv[1]
out = []
def walk(rel):
    entries = sorted(os.listdir(os.path.join(top, rel)))
    paths = [os.path.join(rel, e) if rel else e for e in entries]
    if not paths:
        return
    said = subprocess.run(["git", "-C", top, "-c", "core.excludesFile=" + os.path.abspath(top) + ".patterns",
                           "check-ignore", "--no-index", "-z", "--stdin"],
                          input="\0".join(paths).encode() + b"\0", stdout=subprocess.PIPE).stdout
    ignored = set(said.decode().split("\0"))
    for p in paths:
        if p in ignored:
            continue
        out.append(p)
        if os.path.isdir(os.path.join(top, p)):
            walk(p)
walk("")
print("\n".join(sorted(out)))
P
git init -q "$work/gitdir"
for seed in $(seq "${CAIRN_SEEDS:-20}"); do
    top=$work/tree
    rm -rf "$top" "$top.patterns"
    python3 make.py "$seed" "$top"
    GIT_DIR=$work/gitdir/.git GIT_WORK_TREE=$top python3 git.py "$top" >expected
    "$CAIRN" backup -q --sync-level none "$top" --exclude-file "$top.patterns" --exclude "!$top" --force
    "$CAIRN" ls -R "latest:$top" | sed "s|^$top/||" | LC_ALL=C sort | sed '/^$/d' >listed
    sed '/^$/d' expected | LC_ALL=C sort >expected.sorted
    diff expected.sorted listed || fail "seed $seed: $(tr '\n' ' ' <"$top.patterns")"
done
