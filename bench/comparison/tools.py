# SPDX-License-Identifier: Apache-2.0
"""The tools that are compared and the yardsticks beside them: how each operation is called.

Every tool keeps its repository, cache, home and temporary files in one folder of the run, so that
removing the folder gives a fresh start and nothing in the user's home is touched.
"""
import os
import shutil

from .conditions import first_line
from .measure import Command

PASSWORD = "benchmark only"


class Tool:
    """Base: a name, a folder, and one method for each operation that returns a Command or None."""

    encryption = None
    has_key_derivation = False
    notes = ()

    def __init__(self, name, program, folder):
        self.name = name
        self.program = program
        self.folder = folder
        self.repository = os.path.join(folder, "repository")
        self.cache = os.path.join(folder, "cache")

    def version_argv(self):
        return [self.program, "version"]

    def version(self):
        return first_line(self.version_argv(), self.environment())

    def environment(self):
        home = os.path.join(self.folder, "home")
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "LC_ALL": "C.UTF-8",
            "HOME": home,
            "XDG_CACHE_HOME": self.cache,
            "XDG_CONFIG_HOME": os.path.join(home, "config"),
            "XDG_STATE_HOME": os.path.join(home, "state"),
            "XDG_DATA_HOME": os.path.join(home, "data"),
            "TMPDIR": os.path.join(self.folder, "tmp"),
        }

    def reset(self):
        """Removes repository, cache and all else that the tool remembers."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("home", "tmp", "cache"):
            os.makedirs(os.path.join(self.folder, name))

    def command(self, *argv, cwd="/"):
        return Command(list(argv), self.environment(), cwd)

    def restored_tree(self, target, tree):
        return target + tree

    def init(self):
        return None

    def open(self):
        """A command that only opens the repository: where the key derivation shows."""
        return None

    def start(self):
        """A command that only starts the program."""
        return self.command(*self.version_argv())


class Cairn(Tool):
    """cairn@LEVEL backs up at that sync level; plain cairn at its default."""

    encryption = "AES-256-GCM (default), key file"

    def __init__(self, name, program, folder):
        super().__init__(name, program, folder)
        self.level = name.partition("@")[2]

    def call(self, *argv):
        return self.command(self.program, "-r", self.repository,
                            "--key-file", os.path.join(self.folder, "key"),
                            "--cache-dir", self.cache, *argv)

    def init(self):
        return self.call("init")

    def first(self, tree):
        level = ("--sync-level", self.level) if self.level else ()
        return self.call("backup", *level, tree)

    again = first

    def check(self):
        return self.call("check", "--read-data")

    def restore(self, target):
        return self.call("restore", "latest", "--target", target)

    def open(self):
        return self.call("snapshots")


class Restic(Tool):
    encryption = "AES-256-CTR and Poly1305 (its only mode), password"
    has_key_derivation = True

    def environment(self):
        return {**super().environment(), "RESTIC_PASSWORD": PASSWORD}

    def call(self, *argv):
        return self.command(self.program, "-r", self.repository, "--cache-dir", self.cache, *argv)

    def init(self):
        return self.call("init")

    def first(self, tree):
        return self.call("backup", tree)

    again = first

    def check(self):
        return self.call("check", "--read-data")

    def restore(self, target):
        return self.call("restore", "latest", "--target", target)

    def open(self):
        return self.call("cat", "config")


class Borg(Tool):
    encryption = "repokey-blake2 (AES-256-CTR and keyed BLAKE2b), password"
    has_key_derivation = True

    def version_argv(self):
        return [self.program, "--version"]

    def environment(self):
        return {
            **super().environment(),
            "BORG_PASSPHRASE": PASSWORD,
            "BORG_BASE_DIR": os.path.join(self.folder, "home"),
            "BORG_CACHE_DIR": self.cache,
            "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes",
        }

    def init(self):
        return self.command(self.program, "init", "--encryption", "repokey-blake2",
                            self.repository)

    def first(self, tree):
        return self.command(self.program, "create", f"{self.repository}::first", tree)

    def again(self, tree):
        return self.command(self.program, "create", f"{self.repository}::again", tree)

    def check(self):
        return self.command(self.program, "check", "--verify-data", self.repository)

    def restore(self, target):
        return self.command(self.program, "extract", f"{self.repository}::first", cwd=target)

    def open(self):
        return self.command(self.program, "list", "--short", self.repository)


class TarZstd(Tool):
    encryption = "none"
    notes = ("tar + zstd neither encrypts nor deduplicates, and does all work again the second time.",)

    def version_argv(self):
        return ["tar", "--version"]

    def version(self):
        parts = [first_line([name, "--version"]) for name in ("tar", "zstd")]
        return ", ".join(part for part in parts if part)

    def reset(self):
        super().reset()
        os.mkdir(self.repository)

    def shell(self, script, *argv):
        return self.command("bash", "-c", "set -o pipefail; " + script, "bash", *argv)

    def _store(self, tree, name):
        return self.shell('tar -C "$1" -c "$2" | zstd -q -1 -T2 > "$3"', os.path.dirname(tree),
                          os.path.basename(tree), os.path.join(self.repository, name))

    def first(self, tree):
        return self._store(tree, "first.tar.zst")

    def again(self, tree):
        return self._store(tree, "again.tar.zst")

    def check(self):
        return self.command("zstd", "-q", "-t", os.path.join(self.repository, "first.tar.zst"))

    def restore(self, target):
        return self.shell('zstd -q -dc "$1" | tar -C "$2" -x',
                          os.path.join(self.repository, "first.tar.zst"), target)

    def restored_tree(self, target, tree):
        return os.path.join(target, os.path.basename(tree))

    def start(self):
        return None


class Yardstick(Tool):
    """The plain command for one operation: what the machine itself takes for the same bytes."""

    def __init__(self, name, operation, dataset, argv, folder):
        super().__init__(name, argv[0], folder)
        self.operation = operation
        self.dataset = dataset
        self.argv = argv

    def build(self, target):
        values = {"tree": self.dataset.tree, "flat": self.dataset.flat, "target": target,
                  "tar": self.dataset.plain_tar}
        return self.command(*[part.format(**values) for part in self.argv])


def yardsticks(dataset, folder):
    """Yardsticks for this dataset, each belonging to one operation."""
    listed = [
        ("direct writes (dd)", "first", ["dd", "if={flat}", "of={target}/flat", "bs=4M",
                                         "oflag=direct", "conv=fsync", "status=none"]),
        ("find -newer", "again", ["find", "{tree}", "-newer", "{tree}/newest"]),
        ("read (cat)", "check", ["sh", "-c", 'find "$1" -type f -print0 | xargs -0 cat > /dev/null',
                                 "sh", "{tree}"]),
        ("cp -a", "restore", ["cp", "-a", "--reflink=never", "{tree}", "{target}/"]),
    ]
    if dataset.plain_tar:
        listed.append(("tar x", "restore", ["tar", "-C", "{target}", "-xf", "{tar}"]))
    return [Yardstick(name, operation, dataset, argv, os.path.join(folder, f"yardstick{number}"))
            for number, (name, operation, argv) in enumerate(listed)]


def find_tools(names, cairn, folder):
    """Returns (tools that are there, {name: why it is missing})."""
    found, missing = [], {}
    for name in names:
        kind = name.partition("@")[0]
        place = os.path.join(folder, name.replace("@", "-"))
        if kind == "cairn":
            program = shutil.which(os.path.abspath(cairn)) if cairn else None
            tool = Cairn(name, program, place)
            absent = "no program at the path given by --cairn" if cairn else "--cairn not given"
        elif kind == "tar":
            program = shutil.which("tar") and shutil.which("zstd") and shutil.which("bash")
            tool, absent = TarZstd(name, "tar", place), "tar, zstd and bash are needed"
        else:
            program = shutil.which(kind)
            tool = {"restic": Restic, "borg": Borg}[kind](name, program, place)
            absent = "not installed"
        if program:
            found.append(tool)
        else:
            missing[name] = absent
    return found, missing
