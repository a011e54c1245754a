#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lists a tree, one line for each file, so that two trees can be compared: listing.py DIR [--no-xattrs].

Columns: path (percent-encoded), type, mode, mtime in nanoseconds, then by type the size, the SHA-256
and the first path of the same file (hard links), or the target; extended attributes of users.
"""
import hashlib
import os
import stat
import sys
from urllib.parse import quote_from_bytes

TYPES = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink",
         stat.S_IFIFO: "fifo"}


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def xattrs(path):
    names = sorted(n for n in os.listxattr(path, follow_symlinks=False) if n.startswith("user."))
    return ["%s=%s" % (n, quote_from_bytes(os.getxattr(path, n, follow_symlinks=False)))
            for n in names]


def line(root, path, first_of, with_xattrs):
    full = os.path.join(root, path)
    st = os.lstat(full)
    kind = TYPES.get(stat.S_IFMT(st.st_mode), "other")
    words = [quote_from_bytes(path) or ".", kind, "%04o" % stat.S_IMODE(st.st_mode),
             str(st.st_mtime_ns)]
    if kind == "file":
        first = first_of.setdefault((st.st_dev, st.st_ino), words[0])
        words += [str(st.st_size), sha256(full), first]
    elif kind == "symlink":
        words.append(quote_from_bytes(os.readlink(full)))
    if with_xattrs and kind != "symlink":
        words += xattrs(full)
    return " ".join(words)


def main():
    root = os.fsencode(sys.argv[1])
    paths = [b""]
    for folder, folders, files in os.walk(root):
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in folders + files]
    first_of = {}
    for path in sorted(paths):
        print(line(root, path, first_of, "--no-xattrs" not in sys.argv))


main()
