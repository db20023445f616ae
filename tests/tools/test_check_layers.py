"""Tests of tools/check_layers.py."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_layers


class CheckLayersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, *includes):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"#include {include}\n" for include in includes))

    def broken(self):
        return check_layers.check(self.root)[0]

    def test_accepts_what_the_layers_may_know(self):
        self.write("include/tilescan/tilescan.h", "<stdint.h>", '"tilescan/version.h"')
        self.write("include/tilescan/tilescan.hpp", "<vector>", '"tilescan/tilescan.h"')
        self.write("src/core/dtype.h", "<cstdint>", '"tilescan/tilescan.h"', '"core/status.h"')
        self.write("src/plan/planner.cpp", '"plan/planner.h"', '"core/status.h"')
        self.write("src/cpu/scan.cpp", "<hwy/highway.h>", '"plan/variant.h"', '"numerics/exp.h"')
        self.write("src/cuda/step.cu", "<cuda_runtime_api.h>", '"cuda/error.h"')
        self.write("src/tile/scan.cu", "<cuda_tile.h>", '"tile/tiles.h"', '"cuda/error.h"')
        self.write("src/hopper/scan.cu", '"hopper/ptx/fence.h"', '"cuda/error.h"')
        self.write("src/hopper/ptx/fence.h", "<cuda/ptx>")
        self.write("src/api/plan.cpp", '"plan/describe.h"')
        self.write("cli/main.cpp", "<CLI/CLI.hpp>", '"testing/verify.h"', '"tilescan/tilescan.h"')
        self.write("python/extension/a.cpp", "<nanobind/ndarray.h>", '"extension/a.h"',
                   '"tilescan/tilescan.h"')
        self.write("tests/unit/a_test.cpp", "<gtest/gtest.h>", '"plan/planner.h"')
        self.assertEqual(self.broken(), [])

    def test_names_file_line_and_include(self):
        self.write("src/core/status.h", "<string>", '"plan/plan.h"')
        self.assertEqual(len(self.broken()), 1)
        self.assertTrue(self.broken()[0].startswith("src/core/status.h:2: plan/plan.h: "))

    def test_refuses(self):
        for path, include in (
            ("include/tilescan/tilescan.h", '"core/dtype.h"'),
            ("include/tilescan/tilescan.h", "<vector>"),
            ("include/tilescan/tilescan.hpp", "<hwy/highway.h>"),
            ("python/extension/a.cpp", "<torch/extension.h>"),
            ("python/extension/a.cpp", '"plan/plan.h"'),
            ("src/core/a.h", "<hwy/highway.h>"),
            ("src/core/a.h", "<cuda_runtime.h>"),
            ("src/numerics/a.h", '"plan/plan.h"'),
            ("src/plan/a.cpp", '"cpu/thread_pool.h"'),
            ("src/plan/a.cpp", '"reference/recurrence.h"'),
            ("src/plan/a.cpp", '"api/last_error.h"'),
            ("src/plan/a.cpp", "<nlohmann/json.hpp>"),
            ("src/reference/a.cpp", '"cpu/scan_forward.h"'),
            ("src/reference/a.cpp", "<hwy/highway.h>"),
            ("src/cuda/a.cu", '"hopper/scan_config.h"'),
            ("src/tile/a.cu", '"hopper/ptx/fence.h"'),
            ("src/hopper/a.cu", '"tile/tiles.h"'),
            ("src/hopper/ptx/a.h", '"hopper/scan_config.h"'),
            ("src/cpu/a.cpp", "<cuda_runtime_api.h>"),
            ("testing/a.cpp", '"cuda/error.h"'),
            ("src/cpu/a.cpp", '"reference/recurrence.h"'),
            ("src/cpu/a.cpp", '"plan/planner.h"'),
            ("src/cpu/a.cpp", '"api/rows.h"'),
            ("src/cpu/a.cpp", '"thread_pool.h"'),
            ("src/cpu/a.cpp", "<torch/torch.h>"),
            ("src/api/a.cpp", '"cpu/thread_pool.h"'),
            ("testing/a.cpp", '"cpu/thread_pool.h"'),
            ("testing/a.cpp", '"plan/planner.h"'),
            ("cli/a.cpp", '"core/dtype.h"'),
            ("cli/a.cpp", '"plan/planner.h"'),
            ("bench/a.cpp", '"core/dtype.h"'),
            ("tests/package/consumer/a.c", '"core/dtype.h"'),
            ("tests/unit/a.cpp", "<torch/torch.h>"),
        ):
            with self.subTest(path=path, include=include):
                self.setUp()
                self.write(path, include)
                self.assertEqual(len(self.broken()), 1)

    def test_refuses_a_folder_without_a_rule(self):
        self.write("src/gadgets/a.h", "<vector>")
        self.assertEqual(self.broken(),
                         ["src/gadgets/a.h: is in no layer of tools/check_layers.py"])

    def test_sees_odd_spacing(self):
        file = self.root / "src/core/a.h"
        file.parent.mkdir(parents=True)
        file.write_text('  #  include  "plan/plan.h"\n// #include "plan/plan.h"\n')
        self.assertEqual(len(self.broken()), 1)

    def test_exit_status(self):
        tool = str(Path(check_layers.__file__))

        def run():
            done = subprocess.run([sys.executable, tool, str(self.root)], capture_output=True)
            return done.returncode

        self.assertEqual(run(), 1)  # nothing to read
        self.write("src/core/a.h", "<vector>")
        self.assertEqual(run(), 0)
        self.write("src/core/b.h", '"plan/plan.h"')
        self.assertEqual(run(), 1)

