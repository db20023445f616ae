"""The ways the tests reach tilescan: its C interface and its command line, a backend each."""

import dataclasses
import pathlib
import subprocess
import tempfile
import typing

import safetensors.torch
import torch

import tilescan_ctypes


class Engine(typing.Protocol):
    """One way to reach tilescan.

    Both methods take operands by their field names and leave them unchanged; outputs are returned
    by field name, in the dtypes of the public implementation.
    """

    @property
    def name(self) -> str: ...

    @property
    def takes_any_strides(self) -> bool: ...

    def scan_forward(self, operands: dict[str, torch.Tensor], *, dt_softplus: bool,
                     dt_limit: tuple[float, float],
                     chunk_size: int = 0) -> dict[str, torch.Tensor]:
        """Returns out and final_states."""

    def state_update(self, operands: dict[str, torch.Tensor], *, dt_softplus: bool,
                     dt_limit: tuple[float, float]) -> dict[str, torch.Tensor]:
        """Returns out and state."""


@dataclasses.dataclass(frozen=True)
class CInterface:
    """The shared library, called in this process."""

    library: tilescan_ctypes.Library
    backend: str
    scan_kernel: str | None = None
    instruction_set: str | None = None
    num_threads: int = 0
    takes_any_strides: typing.ClassVar[bool] = True

    @property
    def name(self) -> str:
        parts = ["c", self.backend, self.scan_kernel, self.instruction_set]
        parts += [f"{self.num_threads}threads" if self.num_threads else None]
        return "-".join(part for part in parts if part)

    def scan_forward(self, operands, *, dt_softplus, dt_limit, chunk_size=0):
        x = operands["x"]
        batch, _, nheads, headdim = x.shape
        dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
        shape = (batch, nheads, headdim, operands["B"].shape[3])
        outputs = {"out": torch.full(x.shape, torch.nan, dtype=x.dtype),
                   "final_states": torch.full(shape, torch.nan, dtype=dtype)}
        self._run("scan_forward", operands | outputs, dt_softplus=dt_softplus, dt_limit=dt_limit,
                  chunk_size=chunk_size, kernel=self.scan_kernel)
        return outputs

    def state_update(self, operands, *, dt_softplus, dt_limit):
        x = operands["x"]
        outputs = {"state": operands["state"].clone(),
                   "out": torch.full(x.shape, torch.nan, dtype=x.dtype)}
        self._run("state_update", operands | outputs, dt_softplus=dt_softplus, dt_limit=dt_limit)
        return outputs

    def _run(self, operation, tensors, **options):
        self.library.run(operation, tensors, backend=self.backend,
                         instruction_set=self.instruction_set, num_threads=self.num_threads,
                         **options)


@dataclasses.dataclass(frozen=True)
class CommandLine:
    """The tool, `tilescan run`, with a safetensors file in and one out."""

    tool: pathlib.Path
    backend: str
    takes_any_strides: typing.ClassVar[bool] = False

    @property
    def name(self) -> str:
        return f"cli-{self.backend}"

    def scan_forward(self, operands, *, dt_softplus, dt_limit, chunk_size=0):
        metadata = {"operation": "scan_forward", "chunk_size": str(chunk_size)}
        return self._run(operands, metadata, dt_softplus, dt_limit)

    def state_update(self, operands, *, dt_softplus, dt_limit):
        return self._run(operands, {"operation": "state_update"}, dt_softplus, dt_limit)

    def _run(self, operands, metadata, dt_softplus, dt_limit):
        metadata["dt_softplus"] = "true" if dt_softplus else "false"
        metadata["dt_limit"] = f"{dt_limit[0]},{dt_limit[1]}"
        with tempfile.TemporaryDirectory() as folder:
            source, result = pathlib.Path(folder, "in.safetensors"), pathlib.Path(folder, "out")
            tensors = {name: tensor.contiguous() for name, tensor in operands.items()}
            safetensors.torch.save_file(tensors, source, metadata=metadata)
            run_tool(self.tool, "run", source, "-o", result, "--backend", self.backend)
            return safetensors.torch.load_file(result)


def run_tool(tool: pathlib.Path, *arguments) -> str:
    """Runs the command line and returns its standard output; a failure raises with its message."""
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tilescan {arguments[0]} exited with {done.returncode}: {done.stderr}")
    return done.stdout


def all_engines(build_dir: pathlib.Path) -> list[Engine]:
    """Every scan kernel that the CPU can run, through the C interface; the planner's choice on
    one thread; and every backend through the command line."""
    library = tilescan_ctypes.Library(build_dir / "libtilescan.so")
    tool = build_dir / "tilescan"
    if not tool.is_file():
        raise FileNotFoundError(f"no command line at {tool}")
    info = library.info()
    lacking = {entry["name"] for entry in info["instruction_sets"] if not entry["available"]}
    kernels = [(backend["name"], kernel["kernel"], kernel["instruction_set"] or None)
               for backend in info["backends"] for kernel in backend["kernels"]
               if backend["name"] != "cuda" and kernel["operation"] == "scan_forward"
               and kernel["instruction_set"] not in lacking
               # Others take bf16 alone, and are held against the truth by scan_test.
               and kernel["is_general"]]
    backends = {backend for backend, _, _ in kernels}
    if backends != {"cpu", "reference"}:
        raise RuntimeError(f"expected scan kernels of cpu and reference, found those of {backends}")
    return [*(CInterface(library, *kernel) for kernel in kernels),
            CInterface(library, "cpu", num_threads=1),
            *(CommandLine(tool, backend) for backend in sorted(backends))]
