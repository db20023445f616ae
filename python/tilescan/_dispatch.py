"""Whether a call needs torch's dispatcher, and what its kernels take from torch."""

from __future__ import annotations

import torch

# What looks at calls of operators; torch has no public name for it.
_num_dispatch_modes = torch._C._len_torch_dispatch_stack
_has_function_mode = torch._C._is_torch_function_mode_enabled
_has_transforms = torch._C._are_functorch_transforms_active
_is_traced = torch._C._get_tracing_state
_is_profiled = torch._C._autograd._profiler_enabled

_PLAIN_TYPES = frozenset((torch.Tensor, torch.nn.Parameter, type(None)))


def is_kernel_alone(x, *others) -> bool:
    """Whether torch's dispatcher would do nothing but call the kernel, for which it takes longer than
    a small decoding step: no tracing, transform, mode or profiler looks at the call, operands are
    plain tensors on a device that has a kernel, and no gradient is wanted."""
    if (torch.compiler.is_compiling() or _num_dispatch_modes() or _has_function_mode()
            or _has_transforms() or _is_traced() or _is_profiled()
            or not _PLAIN_TYPES.issuperset(map(type, others)) or type(x) not in _PLAIN_TYPES):
        return False
    if torch.is_grad_enabled() and any(operand is not None and operand.requires_grad
                                       for operand in (x, *others)):
        return False
    return x.is_cpu or x.is_cuda


def num_threads_for(x: torch.Tensor, asked: int) -> int:
    return asked or (torch.get_num_threads() if x.is_cpu else 0)
