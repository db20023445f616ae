"""The public implementations that are timed beside tilescan, found in a folder given."""

import pathlib
import sys
import types


class MambaSsm:
    """mamba_ssm's Triton kernels, from its source at FOLDER/mamba/mamba_ssm."""

    name = "mamba_ssm"
    CHUNK_SIZES = (64, 128, 256)

    def __init__(self, folder: pathlib.Path):
        source = folder / "mamba" / "mamba_ssm"
        if not source.is_dir():
            raise FileNotFoundError(f"no mamba_ssm at {source}")
        # Its __init__ imports CUDA extensions that are not built: the packages are made by hand.
        for package, path in (("mamba_ssm", source), ("mamba_ssm.ops", source / "ops"),
                              ("mamba_ssm.utils", source / "utils")):
            module = types.ModuleType(package)
            module.__path__ = [str(path)]
            sys.modules[package] = module
        sys.path.append(str(folder))  # what it imports besides (einops) may lie there
        from mamba_ssm.ops.triton.selective_state_update import selective_state_update
        from mamba_ssm.ops.triton.ssd_combined import _mamba_chunk_scan_combined_fwd
        # Without what PyTorch's autograd adds.
        self._scan = _mamba_chunk_scan_combined_fwd
        self._update = selective_state_update

    def scan(self, operands: dict, chunk_size: int):
        """A function that computes a tuple that begins with out."""
        o = operands
        return lambda: self._scan(o["x"], o["dt"], o["A"], o["B"], o["C"], chunk_size, D=o["D"],
                                  dt_bias=o["dt_bias"], dt_softplus=True)

    def update(self, operands: dict, state):
        """A function that takes a step and gives out."""
        o = operands
        batch, nheads, headdim, dstate = state.shape
        dt = o["dt"][..., None].expand(batch, nheads, headdim)
        A = o["A"][:, None, None].expand(nheads, headdim, dstate)
        D = o["D"][:, None].expand(nheads, headdim)
        dt_bias = o["dt_bias"][:, None].expand(nheads, headdim)
        return lambda: self._update(state, o["x"], dt, A, o["B"], o["C"], D, dt_bias=dt_bias,
                                    dt_softplus=True)
