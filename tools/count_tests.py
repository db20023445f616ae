#!/usr/bin/env python3
"""Counts what a run of test.sh did: tools/count_tests.py FOLDER

FOLDER holds JUnit files (*.xml, as GoogleTest, ctest and pytest write them) and checks.txt with a
line "passed NAME", "failed NAME" or "skipped NAME" for each check that is no test program. Names
what failed and what was skipped; ends with the line "N passed, N failed", and ", N skipped" if any was.
Exits with 1 if anything failed or nothing passed.
"""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def outcome_of(case):
    """A test case's outcome, by the marks that the three writers leave in it."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    is_skipped = case.find("skipped") is not None or case.get("result") in ("skipped", "suppressed")
    if is_skipped or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "failed" if case.get("status") == "fail" else "passed"


def outcomes_of_junit(path):
    """(outcome, name) of each test case; a file that cannot be read is a failure."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        return [("failed", f"{path.name}: {error}")]
    cases = [(outcome_of(case), f"{path.stem}: {case.get('classname')}.{case.get('name')}")
             for case in root.iter("testcase")]
    return cases or [("failed", f"{path.name}: holds no test")]


def outcomes_of_checks(path):
    outcomes = []
    for line in path.read_text().splitlines():
        outcome, _, name = line.partition(" ")
        known = outcome in ("passed", "failed", "skipped")
        outcomes.append((outcome, name) if known else ("failed", f"{path.name}: odd line: {line}"))
    return outcomes


def main(arguments):
    folder = Path(arguments[0])
    outcomes = []
    for path in sorted(folder.glob("*.xml")):
        outcomes += outcomes_of_junit(path)
    if (folder / "checks.txt").exists():
        outcomes += outcomes_of_checks(folder / "checks.txt")
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for outcome, name in outcomes:
        count[outcome] += 1
        if outcome != "passed":
            print(f"{outcome}: {name}")
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    print(f"{count['passed']} passed, {count['failed']} failed{skipped}")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
