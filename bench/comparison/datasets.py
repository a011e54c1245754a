# SPDX-License-Identifier: Apache-2.0
"""The data that is backed up: made once in the work directory, from a fixed seed or from /usr.

Beside each tree lie "flat", the same bytes in one file (for direct writes and for measuring how far
they can be compressed), and for trees of many files "plain.tar". A manifest is written last; a tree
without one is made anew.
"""
import json
import os
import random
import shutil
import subprocess
import time
import zlib

MANIFEST_VERSION = 3
SEED = 0x636169726E
MIB = 1 << 20
# zstd -1 adds a few bytes to what it cannot compress; 2 % saved is where data counts as compressible.
COMPRESSIBLE_BELOW = 0.98

NAMES = ("large", "usr", "files16k", "files1k")
SCALES = {
    "full": {"large": 2048 * MIB, "usr": (81000, 1300 * MIB), "files16k": 4000, "files1k": 10000},
    "small": {"large": 256 * MIB, "usr": (5000, 80 * MIB), "files16k": 4000, "files1k": 10000},
}


class ThroughputRefused(Exception):
    """A throughput in bytes was asked for data that can be compressed."""


class Dataset:
    """One tree with its measured nature (facts: the manifest)."""

    def __init__(self, name, folder, facts):
        self.name = name
        self.tree = os.path.join(folder, "tree")
        self.flat = os.path.join(folder, "flat")
        self.plain_tar = os.path.join(folder, "plain.tar") if facts["files"] > 2 else None
        self.facts = facts


def is_compressible(facts):
    return facts["compressed_bytes"] < COMPRESSIBLE_BELOW * facts["bytes"]


def throughput_mib_s(facts, seconds):
    """Bytes per second, for data that cannot be compressed; else raises ThroughputRefused."""
    if is_compressible(facts):
        share = facts["compressed_bytes"] / facts["bytes"]
        raise ThroughputRefused(f"the data compresses to {share:.0%} of its size")
    return facts["bytes"] / seconds / MIB


def _write_random(stream, generator, size):
    while size > 0:
        piece = generator.randbytes(min(size, 4 * MIB))
        stream.write(piece)
        size -= len(piece)


def _make_large(tree, size):
    with open(os.path.join(tree, "data.bin"), "wb") as stream:
        _write_random(stream, random.Random(SEED), size)
    return {"origin": f"random bytes, seed {SEED:#x}"}


def _make_small_files(tree, count, size, salt):
    generator = random.Random(SEED + salt)
    for number in range(count):
        folder = os.path.join(tree, f"d{number // 250:03}")
        if number % 250 == 0:
            os.mkdir(folder)
        with open(os.path.join(folder, f"f{number:05}.bin"), "wb") as stream:
            stream.write(generator.randbytes(size))
    return {"origin": f"random bytes, seed {SEED + salt:#x}, 250 files in each folder"}


class _Folder:
    """Counts of a folder of the live system, children included."""

    def __init__(self, path):
        self.path = path
        self.files = 0
        self.bytes = 0
        self.children = []
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError:
            entries = []
        for entry in entries:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                child = _Folder(entry.path)
                self.children.append(child)
                self.files += child.files
                self.bytes += child.bytes
            elif entry.is_file():
                self.files += 1
                self.bytes += entry.stat().st_size


def _select(folders, want_files, want_bytes):
    """Takes whole folders, largest count first, until both wants are met; opens what is too large.

    A folder is taken only if the average size of what is then still wanted stays near that of the
    whole; later passes are less strict, so that the count is met even where the bytes cannot be.
    """
    average = want_bytes / want_files
    chosen = []
    taken = set()

    def is_fitting(folder, slack):
        files, size = want_files - folder.files, want_bytes - folder.bytes
        if files < 0 or size < 0:
            return False
        return files == 0 or average / slack <= size / files <= average * slack

    def is_open(folder):
        return folder in taken or any(is_open(child) for child in folder.children)

    def take(folder, slack):
        nonlocal want_files, want_bytes
        if folder.files == 0 or folder in taken:
            return
        if is_fitting(folder, slack) and not is_open(folder):
            chosen.append(folder)
            taken.add(folder)
            want_files -= folder.files
            want_bytes -= folder.bytes
            return
        for child in sorted(folder.children, key=lambda child: -child.files):
            take(child, slack)

    for slack in (1.25, 2, 4, float("inf")):
        for folder in folders:
            take(folder, slack)
    return chosen


def _make_usr(tree, want):
    # Documentation, data and headers first, then libraries and programs: what any Debian has.
    roots = ("/usr/share", "/usr/include", "/usr/lib", "/usr/libexec", "/usr/bin", "/usr/sbin")
    folders = [_Folder(path) for path in roots if os.path.isdir(path)]
    chosen = _select(folders, *want)
    if not chosen:
        raise RuntimeError("no folder below /usr is small enough for this dataset")
    names = "\0".join(os.path.relpath(folder.path, "/") for folder in chosen).encode()
    with subprocess.Popen(["tar", "-C", "/", "--null", "-T", "-", "-c", "--sparse"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pack:
        with subprocess.Popen(["tar", "-C", tree, "-xp"], stdin=pack.stdout) as unpack:
            pack.stdout.close()
            pack.stdin.write(names)
            pack.stdin.close()
            if unpack.wait() != 0 or pack.wait() != 0:
                raise RuntimeError("copying from /usr failed")
    return {
        "origin": f"real files copied from /usr, {want[0]} files and {want[1] // MIB} MiB wanted",
        "selection": [[folder.path, folder.files, folder.bytes] for folder in chosen],
    }


def _count(tree):
    counts = {"files": 0, "directories": 1, "symlinks": 0, "bytes": 0, "largest_bytes": 0}
    for folder, directories, files in os.walk(tree):
        for name in directories + files:
            path = os.path.join(folder, name)
            if os.path.islink(path):
                counts["symlinks"] += 1
            elif os.path.isdir(path):
                counts["directories"] += 1
            elif os.path.isfile(path):
                size = os.lstat(path).st_size
                counts["files"] += 1
                counts["bytes"] += size
                counts["largest_bytes"] = max(counts["largest_bytes"], size)
    return counts


def _measure_compressibility(flat):
    if shutil.which("zstd"):
        with subprocess.Popen(["zstd", "-q", "-1", "-c", flat], stdout=subprocess.PIPE) as process:
            total = 0
            while piece := process.stdout.read(MIB):
                total += len(piece)
            if process.wait() != 0:
                raise RuntimeError(f"zstd could not read {flat}")
        return {"compressed_bytes": total, "compressor": "zstd -1"}
    total = 0
    packer = zlib.compressobj(1)
    with open(flat, "rb") as stream:
        while piece := stream.read(MIB):
            total += len(packer.compress(piece))
    return {"compressed_bytes": total + len(packer.flush()), "compressor": "zlib 1"}


def _make(name, scale, folder):
    tree = os.path.join(folder, "tree")
    os.makedirs(tree)
    size = SCALES[scale][name]
    if name == "large":
        facts = _make_large(tree, size)
    elif name == "usr":
        facts = _make_usr(tree, size)
    elif name == "files16k":
        facts = _make_small_files(tree, size, 16384, 1)
    else:
        facts = _make_small_files(tree, size, 1024, 2)
    # A cache that compares times may not trust the newest file of a backup (borg re-reads it):
    # one extra byte that is younger than all else takes that place, so the data itself does not.
    time.sleep(1.1)
    with open(os.path.join(tree, "newest"), "wb") as stream:
        stream.write(b"\n")
    flat = os.path.join(folder, "flat")
    subprocess.run(["/bin/sh", "-c",
                    'find "$1" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat > "$2"',
                    "sh", tree, flat], check=True)
    facts.update(_count(tree))
    if facts["files"] > 2:
        subprocess.run(["tar", "-C", folder, "-cf", os.path.join(folder, "plain.tar"), "tree"],
                       check=True)
    facts.update(_measure_compressibility(flat))
    return facts


def prepare(name, scale, data_folder):
    """Returns the dataset, making it first if it is not there."""
    folder = os.path.join(data_folder, f"{name}-{scale}")
    manifest = os.path.join(folder, "manifest.json")
    try:
        with open(manifest, encoding="utf-8") as stream:
            facts = json.load(stream)
        counts = _count(os.path.join(folder, "tree"))
        if facts["version"] == MANIFEST_VERSION and all(
                facts[key] == counts[key] for key in counts):
            return Dataset(name, folder, facts)
    except (OSError, ValueError, KeyError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    facts = {"version": MANIFEST_VERSION, "name": name, "scale": scale}
    facts.update(_make(name, scale, folder))
    os.sync()
    with open(manifest, "w", encoding="utf-8") as stream:
        json.dump(facts, stream, indent=1)
    return Dataset(name, folder, facts)


def warm(path):
    """Reads every file below path, so that the page cache holds them."""
    subprocess.run(["/bin/sh", "-c", 'find "$1" -type f -print0 | xargs -0 -r cat > /dev/null',
                    "sh", path], check=True)


def stored_size(path):
    """Bytes of a repository: apparent (file lengths) and allocated (blocks); a hard link once."""
    apparent = allocated = files = 0
    seen = set()
    for folder, _, names in os.walk(path):
        for name in names:
            facts = os.lstat(os.path.join(folder, name))
            if (facts.st_dev, facts.st_ino) in seen:
                continue
            seen.add((facts.st_dev, facts.st_ino))
            files += 1
            apparent += facts.st_size
            allocated += facts.st_blocks * 512
    return {"apparent_bytes": apparent, "allocated_bytes": allocated, "files": files}
