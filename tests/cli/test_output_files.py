"""Output files appear whole or not at all."""

import os
import resource
import stat
import subprocess

import pytest

import problems
import safetensors_file as st


@pytest.fixture
def input_file(tmp_path):
    return st.write(tmp_path / "in", problems.scan_problem())


def test_failed_run_keeps_the_file_that_was_there(tilescan, tmp_path):
    bad = problems.scan_problem(batch=1)
    del bad["initial_states"]
    bad["cu_seqlens"] = st.Tensor("I32", (2,), [0, 6])
    st.write(tmp_path / "in", bad)
    (tmp_path / "out").write_text("kept")
    tilescan("run", "in", "-o", "out", code=2)
    assert (tmp_path / "out").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_full_disk_leaves_nothing(request, tmp_path, input_file):
    """A limit on file size stands for a full disk: the write fails half way."""
    tool = request.config.getoption("--tool").resolve()
    (tmp_path / "out").write_text("kept")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    done = subprocess.run(["sh", "-c", 'trap "" XFSZ; exec "$0" "$@"', tool, "run", "in", "-o",
                           "out"], capture_output=True, text=True, cwd=tmp_path, preexec_fn=limit,
                          timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "tilescan: cannot write out: File too large\n"
    assert (tmp_path / "out").read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


def test_output_may_replace_the_input(tilescan, tmp_path, input_file):
    tilescan("run", "in", "-o", "in")
    assert set(st.read(tmp_path / "in")[0]) == {"out", "final_states"}


def test_permissions_follow_the_umask_and_the_file_that_was_there(tilescan, tmp_path, input_file):
    umask = os.umask(0o027)
    try:
        tilescan("run", "in", "-o", "out")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640
    (tmp_path / "out").chmod(0o600)
    tilescan("run", "in", "-o", "out")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600


def test_link_is_followed(tilescan, tmp_path, input_file):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "real").write_text("")
    (tmp_path / "out").symlink_to("folder/real")
    tilescan("run", "in", "-o", "out")
    assert (tmp_path / "out").is_symlink()
    assert set(st.read(tmp_path / "folder" / "real")[0]) == {"out", "final_states"}


def test_device_is_written_and_not_replaced(tilescan, input_file):
    tilescan("run", "in", "-o", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("path", ["missing/out", "."])
def test_place_that_cannot_be_written_is_an_error(tilescan, tmp_path, input_file, path):
    assert f"cannot write {path}: " in tilescan("run", "in", "-o", path, code=2).stderr
    assert f"cannot write {path}: " in tilescan("info", "--json", path, code=2).stderr
    assert os.listdir(tmp_path) == ["in"]


def test_layout_and_metadata_of_the_output(tilescan, tmp_path):
    """st.read() asserts padding, alignment and order; the operation is recorded."""
    st.write(tmp_path / "in", problems.scan_problem("BF16", headdim=1, dstate=1, seqlen=3))
    tilescan("run", "in", "-o", "out", "--states-every", 1)
    tensors, metadata = st.read(tmp_path / "out")
    assert set(tensors) == {"out", "final_states", "states_out"}
    assert metadata["operation"] == "scan_forward"
