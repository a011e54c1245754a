# SPDX-License-Identifier: Apache-2.0
"""Runs one command and measures its whole process tree.

Wall time is taken around fork and wait4. CPU time and the largest resident set come from wait4, so
they cover the child and every descendant that it waited for. Memory of the whole tree comes from a
control group made for this one command (version 1 or 2), or, where none can be made, from
/proc/PID/smaps_rollup of every process of the tree. A thread samples it every 50 ms.
"""
import ctypes
import os
import signal
import threading
import time

SAMPLE_SECONDS = 0.05
MESSAGE_BYTES = 600

_libc = ctypes.CDLL(None, use_errno=True)


def syncfs(path):
    """Writes back the file system that holds path. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if _libc.syncfs(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(fd)


def _read(path):
    with open(path, encoding="ascii", errors="replace") as stream:
        return stream.read()


def _stat_value(text, key):
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0


class GroupMemory:
    """Memory of the processes in a control group of their own."""

    def __init__(self, version, parent):
        self.version = version
        self.parent = parent
        self.path = None
        self._anon_key = "total_rss" if version == 1 else "anon"
        self._sampled_peak = 0

    def describe(self):
        return f"control group v{self.version} memory controller, one group per command"

    def open(self):
        self.path = os.path.join(self.parent, f"cairn-compare-{os.getpid()}")
        os.mkdir(self.path)
        self._sampled_peak = 0

    def enter(self):
        """Called in the child: moves it into the group."""
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as stream:
            stream.write("0")

    def anonymous_bytes(self, pid):
        del pid
        if self.version == 2:
            try:
                current = int(_read(os.path.join(self.path, "memory.current")))
                self._sampled_peak = max(self._sampled_peak, current)
            except (OSError, ValueError):
                pass
        return _stat_value(_read(os.path.join(self.path, "memory.stat")), self._anon_key)

    def peak_bytes(self):
        """The group's peak, page cache included. Before Linux 5.19 version 2 is only sampled."""
        name = "memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"
        try:
            return int(_read(os.path.join(self.path, name)))
        except (OSError, ValueError):
            return self._sampled_peak or None

    def close(self):
        if not self.path:
            return
        for _ in range(100):
            try:
                os.rmdir(self.path)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
        self.path = None


class TreeMemory:
    """Memory of a process tree by /proc: for machines where no control group can be made."""

    def describe(self):
        return "sum of Anonymous in /proc/PID/smaps_rollup over the process tree"

    def open(self):
        pass

    def enter(self):
        pass

    def anonymous_bytes(self, pid):
        total = 0
        pending = [pid]
        while pending:
            process = pending.pop()
            try:
                for line in _read(f"/proc/{process}/smaps_rollup").splitlines():
                    if line.startswith("Anonymous:"):
                        total += int(line.split()[1]) * 1024
                        break
                for task in os.listdir(f"/proc/{process}/task"):
                    pending += _read(f"/proc/{process}/task/{task}/children").split()
            except OSError:
                continue
        return total

    def peak_bytes(self):
        return None

    def close(self):
        pass


def _group_parents():
    """Yields (version, directory) in which a group with memory accounting may be made."""
    own = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        own[controllers] = path
    for line in _read("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        root, mount_point = left.split()[3:5]
        kind, _, options = right.split()[:3]
        if kind == "cgroup" and "memory" in options.split(","):
            for controllers, path in own.items():
                if "memory" in controllers.split(","):
                    yield 1, os.path.join(mount_point, os.path.relpath(path, root))
        elif kind == "cgroup2" and "" in own:
            yield 2, os.path.join(mount_point, os.path.relpath(own[""], root))
            # A group that holds processes cannot hand controllers down; the top group can.
            yield 2, mount_point


def find_memory():
    """Returns what measures memory on this machine: a GroupMemory that works, else a TreeMemory."""
    try:
        parents = list(_group_parents())
    except (OSError, ValueError):
        parents = []
    for version, parent in parents:
        memory = GroupMemory(version, os.path.normpath(parent))
        try:
            memory.open()
            usage = "memory.usage_in_bytes" if version == 1 else "memory.current"
            if not os.path.exists(os.path.join(memory.path, usage)):
                continue
            pid = os.fork()
            if pid == 0:
                try:
                    memory.enter()
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            if os.waitpid(pid, 0)[1] == 0:
                return memory
        except OSError:
            continue
        finally:
            memory.close()
    return TreeMemory()


class _Sampler(threading.Thread):
    def __init__(self, memory, pid, deadline):
        super().__init__(daemon=True)
        self.memory = memory
        self.pid = pid
        self.deadline = deadline
        self.anonymous = 0
        self.samples = 0
        self.timed_out = False
        self.finished = threading.Event()

    def run(self):
        # A moment for exec, so that the memory of the forked interpreter is not counted.
        self.finished.wait(0.004)
        while True:
            try:
                self.anonymous = max(self.anonymous, self.memory.anonymous_bytes(self.pid))
                self.samples += 1
            except (OSError, ValueError):
                pass
            if self.finished.wait(SAMPLE_SECONDS):
                return
            if time.monotonic() > self.deadline and not self.timed_out:
                self.timed_out = True
                os.killpg(self.pid, signal.SIGKILL)


def _cpu_ticks():
    """Ticks that the whole machine was busy, and ticks stolen by the hypervisor."""
    fields = [int(value) for value in _read("/proc/stat").split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = fields[:8]
    return user + nice + system + irq + softirq, steal


def _exec_child(command, log, memory, gate):
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        memory.enter()
        os.chdir(command.cwd)
        # The parent starts the clock and opens the gate when all of this is behind us.
        os.read(gate, 1)
        os.execvpe(command.argv[0], command.argv, command.env)
    except BaseException as error:
        os.write(2, f"cannot start {command.argv[0]}: {error}\n".encode())
    os._exit(127)


def _log_tail(path):
    with open(path, "rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - MESSAGE_BYTES))
        text = stream.read().decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines[-3:])


def _resident_bytes():
    """This process's resident set: a child that has not yet called exec starts with as much."""
    return int(_read("/proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Command:
    """What to run: argv, the complete environment, the working directory."""

    def __init__(self, argv, env, cwd="/"):
        self.argv = argv
        self.env = env
        self.cwd = cwd


def run(command, log, memory, timeout, sync_path=None):
    """Runs the command and returns its sample as a dictionary.

    With sync_path the file system is written back afterwards and that time is a field of its own,
    sync_after_s: it is what the command has left in the page cache. The caller writes back before.
    A command that fails or exceeds timeout seconds is a sample too, with its message.
    """
    memory.open()
    gate_read, gate_write = os.pipe()
    load = os.getloadavg()[0]
    floor = _resident_bytes()
    pid = os.fork()
    if pid == 0:
        os.close(gate_write)
        _exec_child(command, log, memory, gate_read)
    os.close(gate_read)
    sampler = _Sampler(memory, pid, time.monotonic() + timeout)
    try:
        # Let the child reach the gate: what it does before is not the command's.
        time.sleep(0.02)
        own_before, busy_before = time.process_time(), _cpu_ticks()
        start = time.monotonic_ns()
        os.write(gate_write, b"g")
        sampler.start()
        _, status, usage = os.wait4(pid, 0)
        wall = (time.monotonic_ns() - start) / 1e9
        busy_after = _cpu_ticks()
    except BaseException:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        os.close(gate_write)
        sampler.finished.set()
        if sampler.is_alive():
            sampler.join()
        peak = memory.peak_bytes()
        memory.close()
    own = time.process_time() - own_before
    hertz = os.sysconf("SC_CLK_TCK")
    cpu = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    sample = {
        "status": code,
        "wall_s": round(wall, 6),
        "user_s": round(usage.ru_utime, 6),
        "sys_s": round(usage.ru_stime, 6),
        "cpu_s": round(cpu, 6),
        "max_rss_bytes": usage.ru_maxrss * 1024,
        "max_rss_floor_bytes": floor,
        "anonymous_bytes": sampler.anonymous,
        "memory_samples": sampler.samples,
        "group_peak_bytes": peak,
        "read_blocks_512": usage.ru_inblock,
        "written_blocks_512": usage.ru_oublock,
        "load_before": round(load, 2),
        "others_cpu_s": round(max(0.0, (busy_after[0] - busy_before[0]) / hertz - cpu - own), 2),
        "stolen_cpu_s": round((busy_after[1] - busy_before[1]) / hertz, 2),
    }
    if sync_path:
        start = time.monotonic_ns()
        syncfs(sync_path)
        sample["sync_after_s"] = round((time.monotonic_ns() - start) / 1e9, 6)
    if sampler.timed_out:
        sample["message"] = f"stopped after {timeout} s"
    elif code != 0:
        sample["message"] = _log_tail(log) or "no message"
    return sample
