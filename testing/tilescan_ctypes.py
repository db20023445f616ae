"""tilescan through its C interface, include/tilescan/tilescan.h, with torch tensors as operands."""

import ctypes
import json
import pathlib

import torch

MAX_NDIM = 5

# DLPack's codes and bits.
DTYPES = {
    torch.float64: (2, 64), torch.float32: (2, 32), torch.float16: (2, 16),
    torch.bfloat16: (4, 16), torch.int32: (0, 32), torch.int64: (0, 64), torch.uint8: (1, 8),
    torch.bool: (6, 8),
}


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", DType), ("ndim", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MAX_NDIM), ("strides", ctypes.c_int64 * MAX_NDIM)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("backend", ctypes.c_char_p),
                ("kernel", ctypes.c_char_p), ("instruction_set", ctypes.c_char_p),
                ("chunk_size", ctypes.c_int64), ("num_threads", ctypes.c_int32),
                ("executor", ctypes.c_void_p), ("check_indices", ctypes.c_int32)]


def _tensors(names: str) -> list[tuple[str, type]]:
    return [(name, Tensor) for name in names.split()]


class ScanForwardArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t),
                *_tensors("x dt A B C D z dt_bias initial_states seq_idx cu_seqlens "
                          "out final_states states_out"),
                ("states_every", ctypes.c_int64), ("dt_softplus", ctypes.c_int32),
                ("dt_limit", ctypes.c_float * 2)]


class StateUpdateArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t),
                *_tensors("state x dt A B C D z dt_bias state_batch_indices fresh num_accepted "
                          "out"),
                ("dt_softplus", ctypes.c_int32), ("dt_limit", ctypes.c_float * 2)]


ARGS = {"scan_forward": ScanForwardArgs, "state_update": StateUpdateArgs}


def _view(tensor: torch.Tensor) -> Tensor:
    code, bits = DTYPES[tensor.dtype]
    padding = [0] * (MAX_NDIM - tensor.ndim)
    return Tensor(tensor.data_ptr(), DType(code, bits, 1), tensor.ndim,
                  (ctypes.c_int64 * MAX_NDIM)(*tensor.shape, *padding),
                  (ctypes.c_int64 * MAX_NDIM)(*tensor.stride(), *padding))


class Error(Exception):
    """A status other than TILESCAN_OK, with the library's message."""


class Library:
    """The shared library at a path. Raises Error where a call of the library fails."""

    def __init__(self, path: pathlib.Path):
        self._library = ctypes.CDLL(str(path))
        for name, restype in (("tilescan_last_error", ctypes.c_char_p),
                              ("tilescan_status_name", ctypes.c_char_p),
                              ("tilescan_version", ctypes.c_char_p),
                              ("tilescan_info", ctypes.c_size_t),
                              ("tilescan_plan_describe", ctypes.c_size_t),
                              ("tilescan_plan_workspace_bytes", ctypes.c_size_t),
                              ("tilescan_plan_destroy", None)):
            getattr(self._library, name).restype = restype

    def version(self) -> str:
        return self._library.tilescan_version().decode()

    def info(self) -> dict:
        """What tilescan_info() says of the library and the machine."""
        num_bytes = self._library.tilescan_info(None, ctypes.c_size_t(0)) + 1
        buffer = ctypes.create_string_buffer(num_bytes)
        self._library.tilescan_info(buffer, ctypes.c_size_t(num_bytes))
        return json.loads(buffer.value)

    def plan(self, operation: str, tensors: dict[str, torch.Tensor], *, dt_softplus: bool,
             dt_limit: tuple[float, float], backend: str, kernel: str | None = None,
             instruction_set: str | None = None, chunk_size: int = 0,
             num_threads: int = 0) -> "Call":
        """Plans a call. tensors: operands and outputs by field name, in any strides, on the CPU or,
        for the backend "cuda", on the current GPU."""
        args = self._initialised(ARGS[operation], f"tilescan_{operation}_args_init_sized")
        for name, tensor in tensors.items():
            setattr(args, name, _view(tensor))
        args.dt_softplus = int(dt_softplus)
        args.dt_limit = (ctypes.c_float * 2)(*dt_limit)
        options = self._initialised(Options, "tilescan_options_init_sized")
        options.backend = backend.encode()
        options.kernel = kernel.encode() if kernel else None
        options.instruction_set = instruction_set.encode() if instruction_set else None
        options.chunk_size = chunk_size
        options.num_threads = num_threads
        plan = ctypes.c_void_p()
        self._check(getattr(self._library, f"tilescan_plan_{operation}")(
            ctypes.byref(args), ctypes.byref(options), ctypes.byref(plan)))
        device = "cuda" if backend == "cuda" else "cpu"
        return Call(self, operation, plan, args, tensors, device)

    def run(self, operation: str, tensors: dict[str, torch.Tensor], **options) -> None:
        """Plans and runs one call: plan()'s arguments."""
        self.plan(operation, tensors, **options).run()

    def _initialised(self, struct_type: type, function: str):
        struct = struct_type()
        getattr(self._library, function)(ctypes.byref(struct),
                                         ctypes.c_size_t(ctypes.sizeof(struct)))
        return struct

    def _check(self, status: int) -> None:
        if status != 0:
            name = self._library.tilescan_status_name(status).decode()
            raise Error(f"{name}: {self._library.tilescan_last_error().decode()}")


class Call:
    """A plan with its operands and a workspace."""

    def __init__(self, library: Library, operation: str, plan: ctypes.c_void_p, args,
                 tensors: dict[str, torch.Tensor], device: str):
        self._library = library
        self._operation = operation
        self._plan = plan
        self._args = args
        self._tensors = tensors  # kept alive
        self.workspace_bytes = library._library.tilescan_plan_workspace_bytes(plan)
        # All ones are NaN in every float dtype: a read of what was not written shows.
        self._workspace = torch.full((self.workspace_bytes,), 0xFF, dtype=torch.uint8,
                                     device=device)

    def __del__(self):
        self._library._library.tilescan_plan_destroy(self._plan)

    def describe(self) -> dict:
        """What tilescan_plan_describe() says of it."""
        describe = self._library._library.tilescan_plan_describe
        num_bytes = describe(self._plan, None, ctypes.c_size_t(0)) + 1
        buffer = ctypes.create_string_buffer(num_bytes)
        describe(self._plan, buffer, ctypes.c_size_t(num_bytes))
        return json.loads(buffer.value)

    def run(self, stream: int | None = None) -> None:
        """Runs it, on a GPU on a stream (None: the default one) without waiting for the end."""
        self._library._check(getattr(self._library._library, f"tilescan_run_{self._operation}")(
            self._plan, ctypes.byref(self._args), ctypes.c_void_p(self._workspace.data_ptr()),
            ctypes.c_size_t(self.workspace_bytes), ctypes.c_void_p(stream)))
