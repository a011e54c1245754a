# SPDX-License-Identifier: Apache-2.0
"""Renders the results as Markdown: conditions first, then a table for each dataset.

Everything is computed from the JSON record alone, so a table can be made again from it.
"""
from statistics import median

from .datasets import ThroughputRefused, is_compressible, throughput_mib_s

MIB = 1 << 20
REFERENCE = "cairn"
RIVALS = ("restic", "borg")
TITLES = {
    "first": "first backup, fresh repository",
    "again": "the same again, unchanged",
    "check": "check, all data read",
    "restore": "restore into an empty folder",
}
NAMES = {
    "large": "One file that cannot be compressed",
    "usr": "Real files from /usr",
    "files16k": "Files of 16 KiB that cannot be compressed",
    "files1k": "Files of 1 KiB that cannot be compressed",
}
NOT_MEASURED = (
    "cold page caches: every source and repository is read once before each command",
    "a network or a remote repository: all repositories are on the local file system",
    "a memory limit, and data that exceeds memory",
    "CPU time of the kernel's own threads (write-back, journal, device), for any tool",
    "memory peaks between two samples, which are 50 ms apart (the largest resident set is exact)",
)


def failures(results):
    """Samples that failed or were not run."""
    return [sample for dataset in results["datasets"].values() for sample in dataset["samples"]
            if "message" in sample]


def differing(results):
    """(dataset, tool, comparison) of restored trees that are not like their source."""
    return [(name, tool, compared) for name, dataset in results["datasets"].items()
            for tool, compared in dataset["comparisons"].items() if compared["differences"]]


def good(dataset, operation, tool):
    return [sample for sample in dataset["samples"] if sample["operation"] == operation
            and sample["tool"] == tool and "message" not in sample]


def middle(samples, field):
    values = [sample[field] for sample in samples if sample.get(field) is not None]
    return median(values) if values else None


def key_cost(results, dataset, tool, field):
    """What opening the repository costs beyond starting the program, for tools that derive a key.

    This also holds reading the repository's configuration, to the benefit of the other tools.
    """
    if tool not in results["conditions"]["has_key_derivation"]:
        return 0.0
    opened = middle(good(dataset, "open", tool), field)
    started = middle(good(dataset, "start", tool), field)
    return max(0.0, opened - started) if opened is not None and started is not None else 0.0


def seconds(value):
    return "-" if value is None else f"{value:.3f}" if value < 1 else f"{value:.2f}"


def spread(samples, field):
    values = [sample[field] for sample in samples]
    return f"{seconds(median(values))} ({seconds(min(values))}-{seconds(max(values))})"


def ratio(value, reference):
    if value is None or not reference:
        return "-"
    return f"{value / reference:.2f} x"


def mib(value, digits=1):
    return "-" if value is None else f"{value / MIB:.{digits}f}"


def rate(facts, operation, wall):
    """Throughput where it says something: bytes only of data that cannot be compressed and that
    is read at all (an unchanged backup does not), files only where there are many."""
    parts = []
    try:
        if operation != "again":
            parts.append(f"{throughput_mib_s(facts, wall):.0f} MiB/s")
    except ThroughputRefused:
        pass
    if facts["files"] > 2:
        parts.append(f"{facts['files'] / wall:.0f} files/s")
    return ", ".join(parts) or "-"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


class Row:
    """The medians of one tool in one operation."""

    def __init__(self, results, dataset, operation, tool):
        self.tool = tool
        self.samples = good(dataset, operation, tool)
        self.wall = middle(self.samples, "wall_s")
        self.cpu = middle(self.samples, "cpu_s")
        self.key_wall = key_cost(results, dataset, tool, "wall_s")
        self.key_cpu = key_cost(results, dataset, tool, "cpu_s")
        self.messages = [sample["message"] for sample in dataset["samples"]
                         if sample["operation"] == operation and sample["tool"] == tool
                         and "message" in sample]

    def net(self, value, key):
        return None if value is None else max(0.0, value - key)

    @property
    def net_wall(self):
        return self.net(self.wall, self.key_wall)

    @property
    def net_cpu(self):
        return self.net(self.cpu, self.key_cpu)


def order(results, dataset, operation):
    """Tools in the order of the run, then the yardsticks of this operation."""
    tools = list(results["conditions"]["versions"])
    seen = []
    for sample in dataset["samples"]:
        name = sample["tool"]
        if sample["operation"] == operation and name not in tools and name not in seen:
            seen.append(name)
    return tools, seen


def operation_rows(results, dataset, operation):
    tools, sticks = order(results, dataset, operation)
    reference = Row(results, dataset, operation, REFERENCE)
    rows = []
    for tool in tools + sticks:
        row = Row(results, dataset, operation, tool)
        name = f"*{tool}*" if tool in sticks else tool
        if not row.samples:
            why = row.messages[0] if row.messages else "no sample"
            rows.append([name, f"failed: {clean(why)}"] + ["-"] * 10)
            continue
        resident = max(sample["max_rss_bytes"] for sample in row.samples)
        floor = max(sample["max_rss_floor_bytes"] for sample in row.samples)
        anonymous = max(sample["anonymous_bytes"] for sample in row.samples)
        note = f" [{len(row.messages)} of {len(row.messages) + len(row.samples)} failed]" \
            if row.messages else ""
        has_key = row.key_wall > 0
        rows.append([
            name + note,
            spread(row.samples, "wall_s"),
            ratio(row.wall, reference.wall),
            seconds(row.net_wall) if has_key else "",
            ratio(row.net_wall, reference.wall) if has_key else "",
            spread(row.samples, "cpu_s"),
            ratio(row.cpu, reference.cpu),
            ratio(row.net_cpu, reference.cpu) if has_key else "",
            ("<= " if resident <= floor else "") + mib(resident, 0),
            mib(anonymous),
            seconds(middle(row.samples, "sync_after_s")),
            rate(dataset["facts"], operation, row.wall),
        ])
    return rows


def clean(text):
    return text.replace("|", "/").replace("\n", " ")[:200]


def size_rows(results, dataset):
    def of(tool, after, field):
        values = [size[field] for size in dataset["sizes"]
                  if size["tool"] == tool and size["after"] == after]
        return median(values) if values else None

    reference = of(REFERENCE, "first", "allocated_bytes")
    rows = []
    for tool in results["conditions"]["versions"]:
        first, again = of(tool, "first", "apparent_bytes"), of(tool, "again", "apparent_bytes")
        allocated = of(tool, "first", "allocated_bytes")
        files = of(tool, "first", "files")
        caches = [size["cache"]["allocated_bytes"] for size in dataset["sizes"]
                  if size["tool"] == tool and size["after"] == "first"]
        compared = dataset["comparisons"].get(tool)
        if compared is None:
            verdict = "not compared"
        elif compared["differences"]:
            verdict = f"{compared['differences']} differences, first: {clean(compared['first'][0])}"
        else:
            verdict = f"identical ({compared['method']})"
        rows.append([
            tool, mib(first, 2), mib(allocated, 2), ratio(allocated, reference),
            "-" if files is None else f"{files:.0f}",
            "-" if first is None or again is None else f"{(again - first) / 1024:.1f}",
            mib(median(caches) if caches else None, 2), verdict,
        ])
    return rows


def key_lines(results, dataset):
    lines = []
    for tool in results["conditions"]["has_key_derivation"]:
        opened, started = good(dataset, "open", tool), good(dataset, "start", tool)
        if opened and started:
            lines.append(
                f"{tool}: opening {spread(opened, 'wall_s')} s, program start alone "
                f"{spread(started, 'wall_s')} s, subtracted as key derivation: "
                f"{key_cost(results, dataset, tool, 'wall_s'):.2f} s wall, "
                f"{key_cost(results, dataset, tool, 'cpu_s'):.2f} s CPU")
    opened = good(dataset, "open", REFERENCE)
    if opened:
        lines.append(f"{REFERENCE} (key file, no derivation): opening "
                     f"{spread(opened, 'wall_s')} s, nothing subtracted")
    return lines


def comparisons_lost(results):
    """Rows in which cairn is not ahead of a rival, key derivation subtracted; and how many rows.

    Returns (lost, overlapping, total): texts of rows behind or equal, of rows ahead in the median
    whose spreads overlap, and the number of comparisons made. A row without figures is lost.
    """
    lost, overlapping, total = [], [], 0

    def judge(label, own, other, own_worst, other_best):
        nonlocal total
        total += 1
        if own is None:
            lost.append(f"{label}: {REFERENCE} has no figure")
        elif own >= other:
            lost.append(f"{label}: {other / own if own else 0:.2f} x")
        elif own_worst >= other_best:
            overlapping.append(f"{label}: {other / own:.2f} x")

    for name, dataset in results["datasets"].items():
        for operation in TITLES:
            own = Row(results, dataset, operation, REFERENCE)
            for rival in RIVALS:
                row = Row(results, dataset, operation, rival)
                if not row.samples:
                    continue
                for field, value, other, key in (
                        ("wall_s", own.wall, row.net_wall, row.key_wall),
                        ("cpu_s", own.cpu, row.net_cpu, row.key_cpu)):
                    worst = max((sample[field] for sample in own.samples), default=0)
                    best = min(sample[field] for sample in row.samples) - key
                    judge(f"{name}, {operation}, {field[:-2]}, against {rival}",
                          value, other, worst, best)
        sizes = {}
        for size in dataset["sizes"]:
            if size["after"] == "first":
                sizes.setdefault(size["tool"], []).append(size["allocated_bytes"])
        for rival in RIVALS:
            if rival in sizes:
                mine = sizes.get(REFERENCE)
                judge(f"{name}, repository size, against {rival}",
                      median(mine) if mine else None, median(sizes[rival]),
                      max(mine) if mine else 0, min(sizes[rival]))
    return lost, overlapping, total


def disturbance(results):
    """The share of the machine that others used while commands ran: (median, largest), or None."""
    cores = results["conditions"]["processor"]["cores_usable"]
    shares = [sample["others_cpu_s"] / (sample["wall_s"] * cores)
              for dataset in results["datasets"].values() for sample in dataset["samples"]
              if sample.get("wall_s", 0) > 0.5]
    return (median(shares), max(shares)) if shares else None


def condition_lines(results):
    facts = results["conditions"]
    cpu, memory, disk = facts["processor"], facts["memory"], facts["file_system"] or {}
    features = ", ".join(cpu["features"])
    lines = [
        f"Date: {facts['date']}. Scale: {facts['scale']}. Rounds: {facts['runs']}, the tools in "
        "turn within each round, a different one first each time. As "
        f"{facts['user']}.",
        f"Machine: {cpu['model']}, {cpu['cores_usable']} cores usable ({features}), "
        f"{(memory['total_kib'] or 0) >> 10} MiB of memory, "
        f"{(memory['swap_kib'] or 0) >> 10} MiB of swap.",
        f"System: {facts['kernel']}, {facts['distribution']}; transparent huge pages: "
        f"{memory['transparent_huge_pages']}.",
        f"File system: {disk.get('type')} on {disk.get('source')} ({disk.get('options')}; "
        f"{disk.get('super_options')}), rotational: {disk.get('rotational')}, scheduler: "
        f"{disk.get('scheduler')}"
        + (", no journal" if disk.get("has_journal") is False else "")
        + ". Sources, repositories and targets are all on it; restored trees are "
        f"{facts['restored_trees']}.",
        "Page cache: " + facts["page_cache"] + ". The file system is written back before each "
        "command; \"sync after\" is what a syncfs takes when the command has ended (what it left "
        "to be written, and what it has not promised to be durable).",
    ]
    for tool, version in facts["versions"].items():
        lines.append(f"{tool}: {version or 'version unknown'}; encryption: "
                     f"{facts['encryption'][tool] or 'none'}; sync level: "
                     f"{facts['sync_level'][tool]}; otherwise at its defaults.")
    for tool, why in facts["missing"].items():
        lines.append(f"{tool}: **missing** ({why}).")
    lines += list(facts["notes"])
    lines.append(
        "Wall and CPU time (user + system) of the whole process tree; median (least-most). "
        "Ratios are the other's figure divided by cairn's: above 1 cairn is ahead. \"Less key\" is "
        "without what opening the repository costs beyond program start; cairn uses a key file.")
    lines.append(
        "RSS: largest resident set of one process (\"<=\" where it is below what can be told "
        f"apart). Anonymous: {facts['memory_method']}. "
        "Both are the largest of all rounds.")
    disturbed = disturbance(results)
    if disturbed:
        lines.append("CPU used by others (kernel threads included) while commands of at least "
                     f"0.5 s ran: median {disturbed[0]:.0%}, most {disturbed[1]:.0%} of all cores.")
    return lines


def dataset_lines(results, name):
    dataset = results["datasets"][name]
    facts = dataset["facts"]
    share = facts["compressed_bytes"] / facts["bytes"]
    nature = "can be compressed, so no throughput in bytes is shown" if is_compressible(facts) \
        else "cannot be compressed"
    lines = [f"## {NAMES.get(name, name)}", "",
             f"{facts['files']} files, {facts['directories']} folders, {facts['symlinks']} symbolic "
             f"links, {mib(facts['bytes'], 2)} MiB ({facts['origin']}; one file of 1 byte, younger "
             f"than all others, included). Measured with {facts['compressor']}: {share:.1%} of its "
             f"size; it {nature}.", ""]
    header = ["", "wall s", "ratio", "less key s", "ratio", "CPU s", "ratio",
              "ratio less key", "RSS MiB", "anonymous MiB", "sync after s", "rate"]
    for operation, title in TITLES.items():
        lines += table([title] + header[1:], operation_rows(results, dataset, operation)) + [""]
    lines += table(["repository", "MiB", "allocated MiB", "ratio", "files",
                    "added by the second backup, KiB", "cache MiB", "restored tree"],
                   size_rows(results, dataset)) + [""]
    keys = key_lines(results, dataset)
    if keys:
        lines += ["Opening the repository: " + "; ".join(keys) + ".", ""]
    return lines


def verdict_lines(results):
    if REFERENCE not in results["conditions"]["versions"]:
        return ["cairn was not part of this run: no comparison is made.", ""]
    lost, overlapping, total = comparisons_lost(results)
    if total == 0:
        return ["Neither restic nor borg was part of this run: no comparison is made.", ""]
    lines = [f"cairn is ahead of {' and '.join(RIVALS)} in {total - len(lost)} of {total} "
             "comparisons (medians of wall time and CPU time less key derivation, and allocated "
             "repository size)." + (" Not ahead (the other / cairn):" if lost else ""), ""]
    lines += [f"- {text}" for text in lost] + ([""] if lost else [])
    if overlapping:
        lines += ["Ahead in the median, but the spreads overlap:", ""]
        lines += [f"- {text}" for text in overlapping] + [""]
    return lines


def failure_lines(results):
    texts = {}
    for name, dataset in results["datasets"].items():
        for sample in dataset["samples"]:
            if "message" in sample:
                text = f"{name}, {sample['tool']}, {sample['operation']}: {clean(sample['message'])}"
                texts[text] = texts.get(text, 0) + 1
    for name, tool, compared in differing(results):
        text = f"{name}, {tool}: the restored tree differs in {compared['differences']} places"
        texts[text] = 1
    if not texts:
        return []
    lines = [f"- {text}" + (f" ({count} x)" if count > 1 else "") for text, count in texts.items()]
    return ["## Failed", ""] + lines + [""]


def render(results):
    """The whole page as text."""
    lines = ["# Comparison with other tools", "",
             "Made by `./dev bench`; every sample is in the JSON record beside this page.", ""]
    lines += [f"- {text}" for text in condition_lines(results)] + [""]
    lines += verdict_lines(results)
    for name in results["datasets"]:
        lines += dataset_lines(results, name)
    lines += failure_lines(results)
    lines += ["## Not measured", ""] + [f"- {text}" for text in NOT_MEASURED]
    return "\n".join(lines) + "\n"
