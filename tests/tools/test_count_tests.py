"""Tests of tools/count_tests.py."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "count_tests.py"

GOOGLE_TEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" name="AllTests">
  <testsuite name="Plan" tests="4" failures="1" disabled="1" skipped="1" errors="0">
    <testcase name="Works" status="run" result="completed" classname="Plan" />
    <testcase name="Fails" status="run" result="completed" classname="Plan">
      <failure message="oh" type=""/></testcase>
    <testcase name="Skips" status="run" result="skipped" classname="Plan">
      <skipped message="not here"/></testcase>
    <testcase name="DISABLED_Off" status="notrun" result="suppressed" classname="Plan" />
  </testsuite>
</testsuites>"""
PYTEST = """<testsuites><testsuite errors="1" failures="1" skipped="1" tests="4">
<testcase classname="a" name="passes"/>
<testcase classname="a" name="fails"><failure message="oh">text</failure></testcase>
<testcase classname="a" name="breaks"><error message="set-up">text</error></testcase>
<testcase classname="a" name="skips"><skipped message="no">text</skipped></testcase>
</testsuite></testsuites>"""
CTEST = """<testsuite name="Linux-c++" tests="3" failures="1" disabled="0" skipped="1">
<testcase name="package_install" classname="package_install" status="run"/>
<testcase name="package_c" classname="package_c" status="fail"><failure message="oh"/></testcase>
<testcase name="package_cpp" classname="package_cpp" status="notrun"><skipped/></testcase>
</testsuite>"""


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def count(self):
        done = subprocess.run([sys.executable, TOOL, self.folder], capture_output=True,
                              text=True)
        return done.stdout.splitlines(), done.returncode

    def test_counts_google_test(self):
        (self.folder / "plan.xml").write_text(GOOGLE_TEST)
        lines, code = self.count()
        self.assertEqual(lines[-1], "1 passed, 1 failed, 2 skipped")
        self.assertIn("failed: plan: Plan.Fails", lines)
        self.assertIn("skipped: plan: Plan.Skips", lines)
        self.assertEqual(code, 1)

    def test_counts_pytest(self):
        (self.folder / "cli.xml").write_text(PYTEST)
        self.assertEqual(self.count()[0][-1], "1 passed, 2 failed, 1 skipped")

    def test_counts_ctest(self):
        (self.folder / "package.xml").write_text(CTEST)
        self.assertEqual(self.count()[0][-1], "1 passed, 1 failed, 1 skipped")

    def test_adds_everything_up(self):
        (self.folder / "plan.xml").write_text(GOOGLE_TEST)
        (self.folder / "cli.xml").write_text(PYTEST)
        (self.folder / "checks.txt").write_text("passed format\npassed layers\nfailed fuzz\n")
        self.assertEqual(self.count()[0][-1], "4 passed, 4 failed, 3 skipped")

    def test_counts_every_shard(self):
        for shard in range(2):
            (self.folder / f"plan.{shard}.xml").write_text(GOOGLE_TEST)
        lines, _ = self.count()
        self.assertEqual(lines[-1], "2 passed, 2 failed, 4 skipped")
        self.assertIn("failed: plan.1: Plan.Fails", lines)

    def test_passes_when_all_did(self):
        (self.folder / "checks.txt").write_text("passed format\npassed layers\n")
        self.assertEqual(self.count(), (["2 passed, 0 failed"], 0))

    def test_nothing_is_a_failure(self):
        self.assertEqual(self.count(), (["0 passed, 0 failed"], 1))

    def test_a_broken_file_is_a_failure(self):
        (self.folder / "plan.xml").write_text(GOOGLE_TEST[:300])
        (self.folder / "checks.txt").write_text("passed format\npassd layers\n")
        lines, code = self.count()
        self.assertEqual(lines[-1], "1 passed, 2 failed")
        self.assertEqual(code, 1)

    def test_a_file_without_tests_is_a_failure(self):
        (self.folder / "plan.xml").write_text("<testsuites tests='0'/>")
        self.assertEqual(self.count(),
                         (["failed: plan.xml: holds no test", "0 passed, 1 failed"], 1))

