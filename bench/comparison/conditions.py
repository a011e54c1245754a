# SPDX-License-Identifier: Apache-2.0
"""The conditions that stand beside every figure: machine, system, file system, versions."""
import datetime
import os
import platform
import subprocess


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return None


def first_line(argv, env=None):
    """The first line that a command prints, or None if it cannot be run."""
    try:
        done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
    return lines[0].strip("* ") if lines and done.returncode == 0 else None


def _processor():
    fields = {}
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    known = ("aes", "avx2", "avx512f", "vaes", "vpclmulqdq", "sha_ni", "asimd", "sha2", "hypervisor")
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    return {
        "model": fields.get("model name") or fields.get("CPU part") or platform.machine(),
        "architecture": platform.machine(),
        "cores_usable": len(os.sched_getaffinity(0)),
        "cores_online": os.cpu_count(),
        "features": [name for name in known if name in flags],
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    }


def _memory():
    fields = dict(line.split(":", 1) for line in (_read("/proc/meminfo") or "").splitlines())
    def kib(name):
        return int(fields[name].split()[0]) if name in fields else None
    return {
        "total_kib": kib("MemTotal"),
        "available_kib": kib("MemAvailable"),
        "swap_kib": kib("SwapTotal"),
        "transparent_huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def _has_journal(kind, device_name):
    """Whether an ext4 file system has a journal; None for others."""
    if kind != "ext4":
        return None
    try:
        return any(name.startswith(device_name + "-") for name in os.listdir("/proc/fs/jbd2"))
    except FileNotFoundError:
        return False


def _mount(path):
    """The mount that holds path: the longest mount point that is a prefix of it."""
    best = None
    for line in (_read("/proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        device, _, point, options = left.split()[2:6]
        kind, source, super_options = right.split()[:3]
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and (best is None or len(point) >= len(best["mount_point"])):
            best = {"mount_point": point, "type": kind, "source": source, "options": options,
                    "super_options": super_options, "device": device}
    if best is None:
        return None
    block = f"/sys/dev/block/{best['device']}"
    queue = f"{block}/queue" if os.path.isdir(f"{block}/queue") else f"{block}/../queue"
    best["rotational"] = _read(f"{queue}/rotational")
    best["scheduler"] = _read(f"{queue}/scheduler")
    best["has_journal"] = _has_journal(best["type"], os.path.basename(os.path.realpath(block)))
    space = os.statvfs(path)
    best["free_bytes"] = space.f_bavail * space.f_frsize
    return best


def _distribution():
    for line in (_read("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None


def collect(workdir):
    """Everything about this machine and the file system of workdir that a figure depends on."""
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "processor": _processor(),
        "memory": _memory(),
        "kernel": f"{platform.system()} {platform.release()}",
        "kernel_build": platform.version(),
        "distribution": _distribution(),
        "file_system": _mount(workdir),
        "python": platform.python_version(),
        "load_at_start": os.getloadavg(),
    }
