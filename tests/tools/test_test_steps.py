"""Tests of tools/test_steps.sh: what a test run counts when its steps pass, fail, crash or hang."""

import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"

# Stands in for a GoogleTest program: four tests dealt out to shards, of which the one of that number
# fails; a shard that is told to crash, to say nothing or to hang does so.
PROGRAM = """#!{python}
import os, re, sys, time
shards, shard = int(os.environ["GTEST_TOTAL_SHARDS"]), int(os.environ["GTEST_SHARD_INDEX"])
path = re.search("--gtest_output=xml:(.*)", " ".join(sys.argv)).group(1)
crash, silent, hang = {crash}, {silent}, {hang}
if shard == crash:
    os.abort()
if shard == hang:
    time.sleep(60)
if shard == silent:
    sys.exit(0)
own = [test for test in range(4) if test % shards == shard]
with open(path, "w") as file:
    file.write("<testsuites>")
    for test in own:
        failure = "<failure/>" if test == {fails} else ""
        file.write(f'<testcase classname="Some" name="test{{test}}" status="run">{{failure}}</testcase>')
    file.write("</testsuites>")
sys.exit(1 if {fails} in own else 0)
"""


class TestStepsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, crash=None, silent=None, hang=None, fails=None):
        path = self.folder / "some_test"
        path.write_text(PROGRAM.format(python=sys.executable, crash=crash, silent=silent,
                                       hang=hang, fails=fails))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def run_steps(self, steps):
        """What the steps say, and the last line of the count of their results."""
        results = self.folder / "results"
        results.mkdir()
        script = f"set -u\nRESULTS={results}\n. {TOOLS}/test_steps.sh\n{steps}\n"
        said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False,
                              env={**os.environ, "PROGRAM_SECONDS": "3"})
        self.assertEqual(said.stderr, "")
        count = subprocess.run([sys.executable, TOOLS / "count_tests.py", results],
                               capture_output=True, text=True, check=False)
        return said.stdout.splitlines(), count.stdout.splitlines()[-1]

    def test_shards_run_every_test_once(self):
        said, count = self.run_steps(f"sharded_tests some {self.program()}")
        self.assertEqual(said, ["passed: some.0", "passed: some.1"])
        self.assertEqual(count, "4 passed, 0 failed")

    def test_a_failed_test_counts_once(self):
        said, count = self.run_steps(f"sharded_tests some {self.program(fails=1)}")
        self.assertIn("failed: some.1 (exit status 1)", said)
        self.assertEqual(count, "3 passed, 1 failed")

    def test_a_shard_that_crashes_fails(self):
        said, count = self.run_steps(f"sharded_tests some {self.program(crash=0)}")
        self.assertIn("passed: some.1", said)
        self.assertEqual(count, "2 passed, 1 failed")

    def test_a_shard_without_results_fails(self):
        _, count = self.run_steps(f"sharded_tests some {self.program(silent=1)}")
        self.assertEqual(count, "2 passed, 1 failed")

    def test_a_shard_that_hangs_is_stopped_and_fails(self):
        said, count = self.run_steps(f"sharded_tests some {self.program(hang=1)}")
        self.assertIn("failed: some.1 (exit status 124)", said)
        self.assertEqual(count, "2 passed, 1 failed")

    def test_steps_beside_each_other_are_shown_in_their_order(self):
        said, count = self.run_steps(
            "beside check slow sleep 0.5\nbeside check broken false\nbeside check quick true\n"
            "together\ncheck after true")
        self.assertEqual(said, ["passed: slow", "failed: broken", "passed: quick",
                                "passed: after"])
        self.assertEqual(count, "3 passed, 1 failed")
