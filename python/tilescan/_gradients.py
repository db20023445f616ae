"""What tilescan's torch operators do when a gradient is asked for: there is no backward yet."""

from __future__ import annotations

import collections.abc
import typing

import torch

from tilescan.errors import Unsupported


def refuse_backward(operation: str) -> typing.NoReturn:
    raise Unsupported(f"{operation}: a gradient was asked for, and there is no backward yet: call it "
                      "under torch.no_grad(), or with detached tensors")


def without_backward(operation: str, out: torch.Tensor,
                     operands: collections.abc.Iterable[torch.Tensor | None]) -> torch.Tensor:
    """out, which depends on operands, of an operator that writes to an argument. torch takes no
    backward for one; without this, a gradient would be missing silently."""
    if not torch.is_grad_enabled():
        return out
    wanted = [operand for operand in operands if operand is not None and operand.requires_grad]
    return _WithoutBackward.apply(operation, out, *wanted) if wanted else out


class _WithoutBackward(torch.autograd.Function):
    """Passes out on as depending on operands."""

    @staticmethod
    def forward(ctx, operation, out, *operands):
        ctx.operation = operation
        return out.view_as(out)

    @staticmethod
    def backward(ctx, *_):
        refuse_backward(ctx.operation)
