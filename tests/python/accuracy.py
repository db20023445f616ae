"""Comparison with a peer's result: the tolerance is a multiple of the peer's own error.

The truth is the peer's own code run in float64 on the values the operands hold. Its error in the
operands' precision is what an honest implementation has on these inputs, however they cancel and
decay; tilescan is held to a multiple of it, so no tolerance is guessed and hard inputs do not make
a loose test of easy ones.
"""

import torch

# Both round the same sums in different orders, and each error is one draw: two draws of the same
# size differ by less than this over a whole tensor.
MULTIPLE_OF_PEER = 2.0
# On a handful of tokens the peer may be exact by luck. Each of dt + dt_bias, softplus, exp, dt * x
# and the last product rounds once by at most this much.
FLOOR_IN_ROUNDOFFS = 4.0

UNIT_ROUNDOFF = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8,
                 torch.float16: 2.0**-11}


def _rms(values: torch.Tensor) -> float:
    return values.square().mean().sqrt().item()


def _peak(values: torch.Tensor) -> float:
    return values.abs().max().item()


def _assert_bounded(name: str, norm, actual, truth, honest_error: float, floor: float) -> None:
    error = norm(actual.double() - truth)
    bound = MULTIPLE_OF_PEER * honest_error + floor * norm(truth)
    assert error <= bound, (f"{name}: {norm.__name__[1:]} error {error:.3e} is over {bound:.3e} "
                            f"(the peer's own: {honest_error:.3e}, "
                            f"size of the values: {norm(truth):.3e})")


def assert_agrees(name: str, actual: torch.Tensor, truth: torch.Tensor, peer: torch.Tensor,
                  product_dtype: torch.dtype = torch.float32) -> None:
    """Fails unless actual is as near to the truth as the peer, by root mean square and by peak.

    Args:
      name: of the output, for the message.
      actual: tilescan's result.
      truth: the peer's result in float64 from the same values.
      peer: the peer's result in float32 from the same values.
      product_dtype: the operands' dtype. With bf16 and fp16 operands one factor of every product
        may be rounded to it (the C interface promises fp32 for sums and states only).
    """
    assert actual.shape == truth.shape == peer.shape
    assert truth.dtype == torch.float64 and peer.dtype == torch.float32
    assert torch.isfinite(actual).all(), f"{name} has values that are not finite"
    floor = FLOOR_IN_ROUNDOFFS * UNIT_ROUNDOFF[torch.float32]
    if product_dtype != torch.float32:
        floor += UNIT_ROUNDOFF[product_dtype]
    for norm in (_rms, _peak):
        honest_error = norm(peer.to(actual.dtype).double() - truth)
        _assert_bounded(name, norm, actual, truth, honest_error, floor)


def assert_agrees_in_float64(name: str, actual: torch.Tensor, truth: torch.Tensor,
                             peer: torch.Tensor) -> None:
    """Fails unless two float64 results agree as float64 rounding allows.

    The error of the truth itself is not known, but the peer's fp32 error is, and the same code
    rounds 2^29 times finer in float64; both sides may be off by as much.
    """
    assert actual.dtype == torch.float64
    scale = UNIT_ROUNDOFF[torch.float64] / UNIT_ROUNDOFF[torch.float32]
    floor = FLOOR_IN_ROUNDOFFS * UNIT_ROUNDOFF[torch.float64]
    for norm in (_rms, _peak):
        honest_error = 2.0 * scale * norm(peer.double() - truth)
        _assert_bounded(name, norm, actual, truth, honest_error, floor)
