"""Runs mamba_ssm's own test_selective_state_update.py on the drop-in. It is not part of this
repository: the path of that file is given, and mamba_ssm must be found (its function is what the
test compares with).

    python tests/gpu/run_upstream_tests.py MAMBA/tests/ops/triton/test_selective_state_update.py

The cases whose dt, A and dt_bias are one value a head must pass. The others are Mamba-1's, with a
value a channel; they must be refused for that. Exits with 1 where a case did anything else.
"""

import collections
import importlib
import sys

import pytest
import tilescan
from tilescan.mamba_ssm.ops.triton.selective_state_update import selective_state_update


class Outcomes:
    def __init__(self):
        self.counts = collections.Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "call":
            report.outcome, name = self.judge(item, call, report)
            self.counts[name] += 1
        return report

    def judge(self, item, call, report):
        if item.callspec.params.get("tie_hdim"):
            return report.outcome, report.outcome
        refused = (call.excinfo is not None and call.excinfo.errisinstance(tilescan.InvalidArgument)
                   and "per channel" in str(call.excinfo.value))
        return ("passed", "refused") if refused else ("failed", "not refused")


def main(path: str) -> int:
    upstream = importlib.import_module("mamba_ssm.ops.triton.selective_state_update")
    upstream.selective_state_update = selective_state_update
    outcomes = Outcomes()
    status = pytest.main(["-q", "-p", "no:cacheprovider", path], plugins=[outcomes])
    print(", ".join(f"{count} {name}" for name, count in sorted(outcomes.counts.items())))
    return int(status != 0 or outcomes.counts["passed"] == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
