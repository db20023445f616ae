"""The wheel itself, and its type stubs."""

import inspect
import pathlib
import re
import subprocess
import sys
import zipfile

import numpy
import pytest
import tilescan

HERE = pathlib.Path(__file__).parent
# The oldest C library that the wheel runs with: where it was built, Debian 12 has 2.36, and the newest
# symbols used are of 2.34. docs/python.md says so.
GLIBC_FLOOR = (2, 34)
# What any Linux that can install a manylinux wheel has.
SYSTEM_LIBRARIES = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
                    "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"}

# In an environment that has the wheel and NumPy alone.
WITHOUT_TORCH = """
import sys, numpy, tilescan
ones = numpy.ones((1, 4, 1, 1), "float32")
out = tilescan.scan(ones, ones[..., 0], -ones[0, 0, 0], ones, ones)
assert numpy.allclose(out.ravel(), [1, 1.3678794, 1.5032147, 1.5530018], rtol=1e-6), out
assert "torch" not in sys.modules
try:
    tilescan.patch()
except ImportError:
    print("right")
"""


@pytest.fixture(scope="module")
def wheel(request):
    path = request.config.getoption("--wheel")
    assert path.is_file()
    return path


@pytest.fixture(scope="module")
def libraries(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    found = {path.name: path for path in (folder / "tilescan").iterdir() if ".so" in path.name}
    assert any(name.startswith("_tilescan.") for name in found)
    return found


def output_of(*command) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True,
                          timeout=300).stdout


def test_holds_what_it_needs(libraries):
    for path in libraries.values():
        dynamic = output_of("readelf", "-d", path)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        assert needed <= SYSTEM_LIBRARIES | set(libraries), needed
        if needed & set(libraries):
            assert re.search(r"\(RUNPATH\).*\[\$ORIGIN\]", dynamic)


def test_runs_with_older_systems(libraries):
    for path in libraries.values():
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output_of("objdump", "-T", path))
        assert max((int(major), int(minor)) for major, minor in versions) <= GLIBC_FLOOR


def test_exports_the_module_alone(libraries):
    path = next(path for name, path in libraries.items() if name.startswith("_tilescan."))
    functions = re.findall(r" T (\S+)", output_of("nm", "-D", "--defined-only", path))
    assert functions == ["PyInit__tilescan"]


def test_works_without_torch(wheel, tmp_path):
    output_of(sys.executable, "-m", "venv", tmp_path)
    python = tmp_path / "bin" / "python"
    output_of(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel,
              f"numpy=={numpy.__version__}")
    assert output_of(python, "-I", "-c", WITHOUT_TORCH) == "right\n"


# ---- Types -------------------------------------------------------------------------------------

def test_stub_fits_the_module(tmp_path):
    folder = pathlib.Path(tilescan.__file__).parent
    assert (folder / "py.typed").exists()
    output_of(sys.executable, "-m", "nanobind.stubgen", "-m", "tilescan._tilescan", "-o",
              tmp_path / "stub.pyi")
    assert (folder / "_tilescan.pyi").read_text() == (tmp_path / "stub.pyi").read_text()


def stub_arguments(function) -> list[str]:
    """The names in a function's signature, which the stub has from the same place."""
    head = function.__doc__.split("\n", 1)[0]
    return re.findall(r"[(,] ?(\w+): ", head)


@pytest.mark.parametrize("operation,num_arguments", [
    ("scan", 26), ("state_update", 22), ("causal_conv1d_forward", 17),
    ("causal_conv1d_update", 14), ("rms_norm_gated", 13), ("split_conv1d_scan", 31)])
def test_signature_names_every_argument(operation, num_arguments):
    names = stub_arguments(getattr(tilescan, operation))
    assert len(names) == num_arguments == len(set(names))
    with pytest.raises(TypeError, match="missing required argument '(x|state|conv_state|zxbcdt)'"):
        # None is "not given", so only a name that is not known is refused before.
        tilescan.plan(operation, **dict.fromkeys(names))


def test_torch_functions_have_the_same_arguments():
    import tilescan.torch

    for operation, without in (("scan", {"out", "final_states", "states_out", "stream"}),
                               ("state_update", {"out", "stream", "chunk_size"}),
                               ("causal_conv1d_forward", {"out", "final_states", "stream"}),
                               ("causal_conv1d_update", {"out", "stream"}),
                               ("rms_norm_gated", {"out", "stream"}),
                               ("split_conv1d_scan",
                                {"out", "final_states", "conv_final_states", "stream"})):
        plain = set(stub_arguments(getattr(tilescan, operation)))
        of_torch = set(inspect.signature(getattr(tilescan.torch, operation)).parameters)
        assert of_torch == plain - without


def test_types_of_uses():
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file",
                           HERE / "mypy.ini", HERE / "typed_uses.py"], capture_output=True,
                          text=True, check=False, timeout=300)
    lines = [int(number) for number in re.findall(r"typed_uses\.py:(\d+): error", done.stdout)]
    wrong = [number for number, line in enumerate((HERE / "typed_uses.py").read_text().splitlines(),
                                                  1) if "# wrong" in line]
    assert wrong and lines == wrong, done.stdout
