#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares cairn with restic, borg and tar + zstd in one run on one machine.

See bench/README.md for what is measured and how. Needs Python's standard library only.
"""
import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from comparison import conditions, datasets, measure, report, tools  # noqa: E402

MARKER = ".cairn-compare"
SCHEMA = "cairn-compare-1"
DIFFERENCES_KEPT = 10


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse_arguments():
    def names_of(allowed):
        def parse(text):
            names = [name for name in text.split(",") if name]
            for name in names:
                if name.partition("@")[0] not in allowed:
                    raise argparse.ArgumentTypeError(f"{name}: not one of {', '.join(allowed)}")
            return names
        return parse

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cairn", help="the cairn command, for example build/cairn")
    parser.add_argument("--workdir", help="an empty folder, or one made by an earlier run")
    parser.add_argument("--scale", choices=sorted(datasets.SCALES), default="small")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tools", type=names_of(("cairn", "restic", "borg", "tar")),
                        default=["cairn", "restic", "borg", "tar"],
                        help="cairn@LEVEL adds cairn at that sync level")
    parser.add_argument("--datasets", type=names_of(datasets.NAMES),
                        default=list(datasets.NAMES), help=", ".join(datasets.NAMES))
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for one command")
    parser.add_argument("--json", help="write every sample and all conditions to this file")
    parser.add_argument("--markdown", help="write the tables to this file instead of stdout")
    parser.add_argument("--from-json", help="only render the tables of an earlier run")
    arguments = parser.parse_args()
    if not arguments.from_json and not arguments.workdir:
        parser.error("--workdir is needed")
    if arguments.runs < 1:
        parser.error("--runs must be at least 1")
    return arguments


def open_workdir(path):
    """Creates or takes over the work directory and locks it. Returns (path, lock file)."""
    path = os.path.realpath(path)
    os.makedirs(path, exist_ok=True)
    marker = os.path.join(path, MARKER)
    if os.listdir(path) and not os.path.exists(marker):
        raise SystemExit(f"compare.py: {path} holds other files; give an empty folder")
    lock = open(marker, "w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SystemExit(f"compare.py: another run works in {path}; wait for it") from None
    return path, lock


def write_atomically(path, text):
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".compare-")
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.chmod(name, 0o644)
    os.replace(name, path)


def compare_trees(tree, restored):
    """Compares a restored tree with its source: contents, times, owners, links, attributes."""
    if not os.path.isdir(restored):
        return {"method": "none", "differences": 1, "first": [f"{restored} was not made"]}
    if shutil.which("rsync"):
        argv = ["rsync", "-aHAXnci", "--delete", tree + "/", restored + "/"]
        method = "rsync -aHAXnci --delete"
    else:
        argv = ["diff", "-r", "--no-dereference", "-q", tree, restored]
        method = "diff -r (contents only)"
    done = subprocess.run(argv, capture_output=True, check=False)
    lines = (done.stdout + done.stderr).decode(errors="replace").splitlines()
    if done.returncode != 0 and not lines:
        lines = [f"{argv[0]} ended with status {done.returncode}"]
    return {"method": method, "differences": len(lines), "first": lines[:DIFFERENCES_KEPT]}


class Comparison:
    """One dataset: rounds of operations, the tools interleaved in each."""

    def __init__(self, dataset, present, run_folder, memory, timeout, keep):
        self.dataset = dataset
        self.tools = present
        self.yardsticks = tools.yardsticks(dataset, run_folder)
        self.folder = run_folder
        self.memory = memory
        self.timeout = timeout
        self.keep = keep
        self.result = {"facts": dataset.facts, "samples": [], "sizes": [], "comparisons": {}}
        self.broken = {}

    def sample(self, number, operation, name, command, position):
        """Runs one command from a written-back state and records it. Returns whether it worked."""
        os.sync()
        log = os.path.join(self.folder, "log")
        sample = measure.run(command, log, self.memory, self.timeout, sync_path=self.folder)
        sample = {"round": number, "operation": operation, "tool": name, "position": position,
                  **sample}
        self.result["samples"].append(sample)
        if "message" in sample:
            say(f"  {name} {operation}: failed: {sample['message']}")
        return "message" not in sample

    def skip(self, number, operation, name, why):
        self.result["samples"].append({"round": number, "operation": operation, "tool": name,
                                       "message": f"not run: {why}"})

    def start_round(self, number):
        self.broken = {}
        for tool in self.tools:
            tool.reset()
            command = tool.init()
            if command and not self.sample(number, "init", tool.name, command, 0):
                self.broken[tool.name] = "init failed"

    def run_tool(self, number, operation, tool, position, target):
        if tool.name in self.broken:
            self.skip(number, operation, tool.name, self.broken[tool.name])
            return
        # Sources and repositories are read once before, so that all start from a warm page cache.
        if operation in ("first", "again"):
            datasets.warm(self.dataset.tree)
            command = getattr(tool, operation)(self.dataset.tree)
        elif operation == "restore":
            datasets.warm(tool.repository)
            command = tool.restore(target)
        else:
            datasets.warm(tool.repository)
            command = tool.check()
        done = self.sample(number, operation, tool.name, command, position)
        if operation == "first" and not done:
            self.broken[tool.name] = "the first backup failed"
        if operation in ("first", "again") and done:
            self.result["sizes"].append({
                "round": number, "after": operation, "tool": tool.name,
                **datasets.stored_size(tool.repository),
                "cache": datasets.stored_size(tool.cache)})
        if operation == "restore" and done and tool.name not in self.result["comparisons"]:
            restored = tool.restored_tree(target, self.dataset.tree)
            self.result["comparisons"][tool.name] = compare_trees(self.dataset.tree, restored)

    def run_operation(self, number, operation):
        actors = self.tools + [one for one in self.yardsticks if one.operation == operation]
        # Each round begins with the next tool, so that none always follows the same one.
        turn = (number - 1) % len(actors)
        for position, actor in enumerate(actors[turn:] + actors[:turn], 1):
            target = os.path.join(self.folder, "targets",
                                  f"{self.dataset.name}-{number}-{operation}-{position}")
            os.makedirs(target)
            if isinstance(actor, tools.Yardstick):
                datasets.warm(self.dataset.flat if operation == "first" else self.dataset.tree)
                if actor.name == "tar x":
                    datasets.warm(self.dataset.plain_tar)
                self.sample(number, operation, actor.name, actor.build(target), position)
            else:
                self.run_tool(number, operation, actor, position, target)
            if operation != "restore":
                shutil.rmtree(target)

    def run_opening(self, number):
        for tool in self.tools:
            for operation in ("open", "start"):
                command = getattr(tool, operation)()
                if command and (operation == "start" or tool.name not in self.broken):
                    self.sample(number, operation, tool.name, command, 0)

    def run_round(self, number):
        self.start_round(number)
        for operation in ("first", "again", "check", "restore"):
            self.run_operation(number, operation)
        self.run_opening(number)
        # Not earlier: what is deleted between two restores can slow the second one.
        if not self.keep:
            shutil.rmtree(os.path.join(self.folder, "targets"))
        for tool in self.tools:
            shutil.rmtree(tool.folder, ignore_errors=True)


def space_needed(names, scale, count, rounds):
    """Returns the bytes that a run needs (without, with all restored trees kept until its end).

    The large file comes first and is never kept, so the two peaks are not added.
    """
    sizes = {}
    for name in names:
        value = datasets.SCALES[scale][name]
        if name == "usr":
            sizes[name] = value[1] + value[0] * 4096
        else:
            sizes[name] = value if name == "large" else value * (20480 if name == "files16k" else 5120)
    sources = 3 * sum(sizes.values())
    without = sources + (2 * count + 4) * max(sizes.values())
    many = [size for name, size in sizes.items() if name != "large"]
    kept = sources + rounds * (count + 2) * sum(many) + (count + 1) * max(many, default=0)
    return without, max(without, kept)


def check_space(workdir, arguments, count):
    """Refuses a run that would fill the disk. Returns whether restored trees can all be kept."""
    without, kept = space_needed(arguments.datasets, arguments.scale, count, arguments.runs)
    space = os.statvfs(workdir)
    free = space.f_bavail * space.f_frsize
    if free < without:
        raise SystemExit(f"compare.py: {workdir} has {free >> 20} MiB free; "
                         f"this needs {without >> 20} MiB")
    return free > kept


def run_all(arguments, workdir):
    run_folder = os.path.join(workdir, "run")
    shutil.rmtree(run_folder, ignore_errors=True)
    os.mkdir(run_folder)
    present, missing = tools.find_tools(arguments.tools, arguments.cairn, run_folder)
    has_room = check_space(workdir, arguments, len(present))
    memory = measure.find_memory()
    for tool in present:
        tool.reset()
    facts = conditions.collect(workdir)
    facts.update({
        "scale": arguments.scale, "runs": arguments.runs, "memory_method": memory.describe(),
        "versions": {tool.name: tool.version() for tool in present}, "missing": missing,
        "encryption": {tool.name: tool.encryption for tool in present},
        "has_key_derivation": [tool.name for tool in present if tool.has_key_derivation],
        "notes": [note for tool in present for note in tool.notes],
        "sync_level": {tool.name: getattr(tool, "level", "") or "its default" for tool in present},
        "page_cache": "sources and repositories read once before each command",
        "user": "root" if os.geteuid() == 0 else "not root",
    })
    # ext4 without a journal does not hand out an inode for minutes after its deletion and searches
    # on for each new file: a restore soon after the deletion of many files takes up to ten times
    # as long. There the restored trees stay until the run has ended.
    without_journal = (facts["file_system"] or {}).get("has_journal") is False
    facts["restored_trees"] = "kept until the run has ended" if without_journal and has_room \
        else "deleted after each round"
    results = {"schema": SCHEMA, "conditions": facts, "datasets": {}}
    for name in sorted(arguments.datasets, key=datasets.NAMES.index):
        say(f"{name}: preparing data")
        dataset = datasets.prepare(name, arguments.scale, os.path.join(workdir, "data"))
        keep = without_journal and has_room and dataset.plain_tar is not None
        comparison = Comparison(dataset, present, run_folder, memory, arguments.timeout, keep)
        results["datasets"][name] = comparison.result
        for number in range(1, arguments.runs + 1):
            say(f"{name}: round {number} of {arguments.runs}")
            comparison.run_round(number)
            if arguments.json:
                write_atomically(arguments.json, json.dumps(results, indent=1))
    shutil.rmtree(run_folder)
    return results


def main():
    arguments = parse_arguments()
    lock = None
    if arguments.from_json:
        with open(arguments.from_json, encoding="utf-8") as stream:
            results = json.load(stream)
        if results.get("schema") != SCHEMA:
            raise SystemExit(f"compare.py: {arguments.from_json} is not of the form {SCHEMA}")
    else:
        workdir, lock = open_workdir(arguments.workdir)
        results = run_all(arguments, workdir)
    text = report.render(results)
    if arguments.markdown:
        write_atomically(arguments.markdown, text)
    else:
        print(text, end="")
    failures = report.failures(results)
    differing = report.differing(results)
    missing = ", ".join(results["conditions"]["missing"]) or "none"
    say(f"compared {len(results['conditions']['versions'])} tools on {len(results['datasets'])} "
        f"datasets, {results['conditions']['runs']} rounds; missing: {missing}; "
        f"failed commands: {len(failures)}; restored trees that differ: {len(differing)}")
    if lock:
        lock.close()
    return 3 if failures or differing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("compare.py: interrupted; samples of whole rounds are in the --json file")
