"""bench/plot_seqlen.py: a PNG of what a result file holds."""

import json
import pathlib
import subprocess
import sys

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def result(preset, implementation, seqlen, time_us):
    return {"case": f"{preset}/{seqlen}", "operation": "scan_forward", "implementation": implementation,
            "dtype": "float32", "preset": preset, "seqlen": seqlen, "median_us": time_us,
            "min_us": 0.9 * time_us, "max_us": 1.2 * time_us}


DATA = {"environment": {"cpu": "A Processor", "instruction_set": "avx2", "threads": 2},
        "results": [result(preset, name, seqlen, seqlen * factor) for preset in ("a", "b")
                    for name, factor in (("tilescan", 1.0), ("other", 2.0)) for seqlen in (512, 2048)]}


@pytest.fixture
def plot(tmp_path):
    """plot(*flags, data=..., code=0) -> (the bytes of the picture or None, stderr)."""

    def run(*flags, data=DATA, code=0):
        results = tmp_path / "results.json"
        results.write_text(json.dumps(data))
        picture = tmp_path / "plot.png"
        done = subprocess.run([sys.executable, REPOSITORY / "bench" / "plot_seqlen.py", results, "-o", picture,
                               *flags], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        return picture.read_bytes() if picture.exists() else None, done.stderr

    return run


def test_writes_a_picture(plot):
    picture, _ = plot()
    assert picture.startswith(b"\x89PNG\r\n")


def test_draws_only_the_presets_asked(plot):
    everything, _ = plot()
    one, _ = plot("--preset", "a")
    assert one.startswith(b"\x89PNG\r\n") and one != everything


def test_says_when_there_is_nothing_to_draw(plot):
    picture, stderr = plot("--preset", "c", code=2)
    assert picture is None
    assert "no results of scan_forward for c" in stderr


def test_names_what_a_file_lacks(plot):
    _, stderr = plot(data={"results": []}, code=2)
    assert "results.json" in stderr
