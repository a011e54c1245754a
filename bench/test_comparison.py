#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of bench/comparison: rules of the report, selection of data, measuring. No times."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from comparison import datasets, measure, report  # noqa: E402


def sample(tool, operation, wall, cpu, **more):
    return {"round": 1, "tool": tool, "operation": operation, "wall_s": wall, "cpu_s": cpu, **more}


def results_of(samples, sizes=()):
    return {
        "conditions": {"has_key_derivation": ["restic"], "versions": {"cairn": "1", "restic": "1"}},
        "datasets": {"large": {"samples": samples, "sizes": list(sizes), "comparisons": {}}},
    }


class Throughput(unittest.TestCase):
    def test_refused_when_compressible(self):
        facts = {"bytes": 1000, "compressed_bytes": 979, "files": 2}
        with self.assertRaises(datasets.ThroughputRefused):
            datasets.throughput_mib_s(facts, 1)
        self.assertEqual(report.rate(facts, "first", 1.0), "-")

    def test_given_when_incompressible(self):
        facts = {"bytes": 10 << 20, "compressed_bytes": 10 << 20, "files": 2}
        self.assertEqual(report.rate(facts, "first", 2.0), "5 MiB/s")
        self.assertEqual(report.rate(facts, "again", 2.0), "-")


class Verdict(unittest.TestCase):
    def test_key_derivation_is_subtracted(self):
        keys = [sample("restic", "open", 1.5, 0.9), sample("restic", "start", 0.5, 0.1)]
        runs = [sample("cairn", "first", 1.0, 1.0), sample("restic", "first", 1.9, 9.0)]
        lost, _, total = report.comparisons_lost(results_of(runs + keys))
        self.assertEqual(total, 2)
        self.assertEqual(len(lost), 1)
        self.assertIn("wall", lost[0])

    def test_missing_figure_is_lost(self):
        runs = [sample("cairn", "first", 1.0, 1.0, message="broken"),
                sample("restic", "first", 2.0, 2.0)]
        self.assertEqual(len(report.comparisons_lost(results_of(runs))[0]), 2)
        self.assertEqual(len(report.failures(results_of(runs))), 1)

    def test_larger_repository_is_lost(self):
        sizes = [{"tool": tool, "after": "first", "allocated_bytes": size}
                 for tool, size in (("cairn", 11), ("restic", 10))]
        self.assertEqual(len(report.comparisons_lost(results_of([], sizes))[0]), 1)


class Selection(unittest.TestCase):
    def test_never_exceeds_what_is_wanted_and_takes_nothing_twice(self):
        with tempfile.TemporaryDirectory() as place:
            for folder, count in (("a", 5), ("a/b", 7), ("a/b/c", 2), ("d", 4), ("e", 30)):
                os.makedirs(os.path.join(place, folder))
                for number in range(count):
                    with open(os.path.join(place, folder, str(number)), "wb") as stream:
                        stream.write(b"x" * 10)
            for want in (1, 4, 6, 9, 20, 48):
                chosen = datasets._select([datasets._Folder(place)], want, want * 10)
                self.assertLessEqual(sum(folder.files for folder in chosen), want)
                paths = [folder.path + "/" for folder in chosen]
                for one in paths:
                    self.assertEqual([one], [path for path in paths if one.startswith(path)])
            self.assertEqual([folder.files for folder in chosen], [48])


class Measuring(unittest.TestCase):
    def run_shell(self, script, memory=None, timeout=60):
        with tempfile.TemporaryDirectory() as place:
            command = measure.Command(["sh", "-c", script], {"PATH": os.environ["PATH"]})
            return measure.run(command, os.path.join(place, "log"),
                               memory or measure.TreeMemory(), timeout)

    def test_message_and_status_of_a_failure(self):
        result = self.run_shell("echo what is wrong >&2; exit 7")
        self.assertEqual((result["status"], result["message"]), (7, "what is wrong"))

    def test_program_that_is_not_there(self):
        result = self.run_shell("exec /nonexistent/program")
        self.assertNotEqual(result["status"], 0)

    def test_time_limit_stops_the_whole_tree(self):
        result = self.run_shell("sleep 50 | sleep 50", timeout=0.2)
        self.assertIn("stopped", result["message"])

    def test_grandchildren_count_in_cpu_and_memory(self):
        script = ("python3 -S -c \"x = b'1' * (64 << 20); import time; time.sleep(0.4); "
                  "sum(range(2000000))\" | cat")
        for memory in (measure.TreeMemory(), measure.find_memory()):
            result = self.run_shell(script, memory)
            self.assertNotIn("message", result)
            self.assertGreater(result["anonymous_bytes"], 60 << 20)
            self.assertGreater(result["max_rss_bytes"], 60 << 20)
            self.assertGreater(result["cpu_s"], 0)


if __name__ == "__main__":
    unittest.main()
