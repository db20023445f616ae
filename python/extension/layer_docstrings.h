// Signatures (as in the type stub) and docstrings of the operations around the scan.
#ifndef TILESCAN_PYTHON_EXTENSION_LAYER_DOCSTRINGS_H_
#define TILESCAN_PYTHON_EXTENSION_LAYER_DOCSTRINGS_H_

namespace tilescan::python {

inline constexpr const char* kCausalConv1dForwardSignature =
    "def causal_conv1d_forward(x: tilescan._types.Array, weight: tilescan._types.Array, *, "
    "bias: tilescan._types.Array | None = None, initial_states: tilescan._types.Array | None "
    "= None, seq_idx: tilescan._types.Array | None = None, cu_seqlens: tilescan._types.Array "
    "| None = None, out: tilescan._types.Array | None = None, final_states: "
    "tilescan._types.Array | None = None, activation: str | None = None, backend: str | None "
    "= None, kernel: str | None = None, instruction_set: str | None = None, num_threads: int "
    "= 0, check_indices: bool = False, stream: tilescan._types.StreamLike = None, "
    "return_final_states: bool = False, state_dtype: tilescan._types.DtypeLike = None) -> "
    "typing.Any";

inline constexpr const char* kCausalConv1dForwardDocstring =
    R"(A causal convolution of each channel by itself, over whole sequences.

With width taps, x before a sequence's first token being 0 or what initial_states hold::

    out[t, c] = activation(bias[c] + sum over i < width of weight[c, i] * x[t - (width - 1) + i, c])

Arrays and options are those of scan(). Arithmetic is fp32; every result is rounded once.

Args:
    x: (batch, seqlen, dim) float, in any strides: exchange the last two dimensions of
        (batch, dim, seqlen).
    weight: (dim, width) float; width 2 to 4.
    bias: (dim) float.
    initial_states: (batch, dim, width - 1) float: the x of the tokens before the first, the oldest
        first; with cu_seqlens (num_seqs, ...).
    seq_idx: (batch, seqlen) int32: no window reaches across a change of id; a negative id is padding,
        where out is 0, and which windows pass over.
    cu_seqlens: (num_seqs + 1) int32 or int64, with batch 1: where packed sequences begin and end.
    out: where to write; as x, in x's dtype. Made if not given.
    final_states: where to write the x of the last width - 1 tokens; shape of initial_states, float.
        Made with return_final_states.
    activation: "silu" (or "swish"), or None.
    backend, kernel, instruction_set, num_threads, check_indices, stream: as in scan().
    return_final_states: return them, too.
    state_dtype: dtype of final_states made here: a name or a framework's dtype; x's if not given.

Returns:
    out, or (out, final_states). Arrays that were given are returned as they are; others are of x's
    framework, compact.

Outputs may not overlap operands or each other, except that final_states may be initial_states.

Raises:
    As scan(). An activation of another name is Unsupported.)";

inline constexpr const char* kCausalConv1dUpdateSignature =
    "def causal_conv1d_update(conv_state: tilescan._types.Array, x: tilescan._types.Array, "
    "weight: tilescan._types.Array, *, bias: tilescan._types.Array | None = None, "
    "conv_state_indices: tilescan._types.Array | None = None, cache_seqlens: "
    "tilescan._types.Array | None = None, out: tilescan._types.Array | None = None, "
    "activation: str | None = None, backend: str | None = None, kernel: str | None = None, "
    "instruction_set: str | None = None, num_threads: int = 0, check_indices: bool = False, "
    "stream: tilescan._types.StreamLike = None) -> typing.Any";

inline constexpr const char* kCausalConv1dUpdateDocstring =
    R"(The causal convolution for one token, or several, with the tokens before them updated in place.

The formula, arrays and options are those of causal_conv1d_forward(). Every operand may have its own
float dtype. [T,] stands for a dimension of T tokens that x and out have, or not.

Args:
    conv_state: (slots, dim, state_len) float, state_len >= width - 1; read and written: the tokens last
        seen, the oldest first. slots == batch without conv_state_indices.
    x: (batch, [T,] dim) float.
    weight: (dim, width) float; width 2 to 4.
    bias: (dim) float.
    conv_state_indices: (batch) int32 or int64: the slot of each row, each slot once; a negative one is
        padding: no state is read or written, and out is 0.
    cache_seqlens: (batch) int32: conv_state is a circular buffer, with token number n of a sequence at
        n % state_len, and x holds the tokens from this number on.
    out: where to write; as x, float. Made in x's dtype if not given.
    activation: "silu" (or "swish"), or None.
    backend, kernel, instruction_set, num_threads, check_indices, stream: as in scan().

Returns:
    out. It may not overlap another operand.

Raises:
    As causal_conv1d_forward().)";

inline constexpr const char* kRmsNormGatedSignature =
    "def rms_norm_gated(x: tilescan._types.Array, weight: tilescan._types.Array, *, bias: "
    "tilescan._types.Array | None = None, z: tilescan._types.Array | None = None, out: "
    "tilescan._types.Array | None = None, group_size: int = 0, eps: float | None = None, "
    "norm_before_gate: bool = False, backend: str | None = None, kernel: str | None = None, "
    "instruction_set: str | None = None, num_threads: int = 0, stream: "
    "tilescan._types.StreamLike = None) -> typing.Any";

inline constexpr const char* kRmsNormGatedDocstring =
    R"(RMSNorm over each group of group_size neighbouring channels, with a gate before or behind it.

With norm(y) = y / sqrt(mean of y^2 over the group + eps) * weight + bias::

    out = norm(x * silu(z))    or, with norm_before_gate,    out = norm(x) * silu(z)

Arrays and options are those of scan(). Every operand may have its own float dtype; arithmetic is fp32.
[seqlen,] stands for a dimension that x, z and out have, or not.

Args:
    x: (batch, [seqlen,] dim) float.
    weight: (dim) float.
    bias: (dim) float.
    z: as x, float; no gate if not given.
    out: where to write; as x, float. May be x. Made in x's dtype if not given.
    group_size: a divisor of dim; 0: dim.
    eps: 0 or more; 1e-5 if not given.
    norm_before_gate: see above.
    backend, kernel, instruction_set, num_threads, stream: as in scan().

Returns:
    out.

Raises:
    As scan().)";

inline constexpr const char* kSplitConv1dScanSignature =
    "def split_conv1d_scan(zxbcdt: tilescan._types.Array, conv1d_weight: tilescan._types.Array, "
    "A: tilescan._types.Array, *, conv1d_bias: tilescan._types.Array | None = None, "
    "dt_bias: tilescan._types.Array | None = None, D: tilescan._types.Array | None = None, "
    "rmsnorm_weight: tilescan._types.Array | None = None, "
    "initial_states: tilescan._types.Array | None = None, "
    "conv_initial_states: tilescan._types.Array | None = None, "
    "seq_idx: tilescan._types.Array | None = None, "
    "cu_seqlens: tilescan._types.Array | None = None, "
    "out: tilescan._types.Array | None = None, "
    "final_states: tilescan._types.Array | None = None, "
    "conv_final_states: tilescan._types.Array | None = None, ngroups: int = 1, "
    "group_size: int = 0, rmsnorm_eps: float | None = None, norm_before_gate: bool = False, "
    "activation: str | None = None, dt_softplus: bool = False, "
    "dt_limit: tuple[float, float] | None = None, backend: str | None = None, "
    "kernel: str | None = None, instruction_set: str | None = None, chunk_size: int = 0, "
    "num_threads: int = 0, check_indices: bool = False, "
    "stream: tilescan._types.StreamLike = None, return_final_states: bool = False, "
    "state_dtype: tilescan._types.DtypeLike = None, return_conv_final_states: bool = False) -> "
    "typing.Any";

inline constexpr const char* kSplitConv1dScanDocstring =
    R"(A Mamba-2 layer between its two projections: convolution, scan and gated norm in one call.

With dim = nheads * headdim and conv_dim = dim + 2 * ngroups * dstate the columns of zxbcdt are z (dim),
xBC (conv_dim) and dt (nheads), and those of xBC x, B and C::

    x, B, C = causal_conv1d_forward(xBC)
    out = scan(x, dt, A, B, C, D, z)    or, with rmsnorm_weight,    rms_norm_gated(scan(x, ...), z)

Every size but ngroups follows from the shapes. Arrays and options are those of scan(); the results have
the bits of the three calls.

Args:
    zxbcdt: (batch, seqlen, dim + conv_dim + nheads) float, in any strides.
    conv1d_weight: (conv_dim, width) float; width 2 to 4.
    A: (nheads) float.
    conv1d_bias: (conv_dim) float.
    dt_bias: (nheads) float.
    D: (nheads) or (nheads, headdim) float.
    rmsnorm_weight: (dim) float; z gates the scan if not given.
    initial_states: (batch, nheads, headdim, dstate) float; with cu_seqlens (num_seqs, ...).
    conv_initial_states: (batch, conv_dim, width - 1) float: the xBC of the tokens before the first, the
        oldest first; with cu_seqlens (num_seqs, ...).
    seq_idx, cu_seqlens: as in scan() and causal_conv1d_forward(). At a negative id out is 0, but NaN where
        a norm meets a z that is not finite, or an eps of 0.
    out: where to write; (batch, seqlen, dim), in zxbcdt's dtype. Made if not given.
    final_states: where to write; shape of initial_states, float. Made with return_final_states.
    conv_final_states: where to write; shape of conv_initial_states, float. Made with
        return_conv_final_states, in zxbcdt's dtype.
    ngroups: groups of B and C; divides nheads.
    group_size: of the norm: a divisor of dim; 0: dim // ngroups.
    rmsnorm_eps: 0 or more; 1e-5 if not given.
    norm_before_gate: as in rms_norm_gated().
    activation: of the convolution: "silu" (or "swish"), or None.
    dt_softplus, dt_limit, backend, instruction_set, num_threads, check_indices, stream: as in scan().
    kernel, chunk_size: as in scan(), of the scan alone.
    return_final_states: return the states after the last tokens, too.
    state_dtype: dtype of final_states made here; float32 if not given.
    return_conv_final_states: return the xBC of the last width - 1 tokens, too.

Returns:
    out, or a tuple of those asked for in the order out, final_states, conv_final_states. Arrays that were
    given are returned as they are; others are of zxbcdt's framework, compact.

Outputs may not overlap operands or each other, except that final_states may be initial_states, and
conv_final_states conv_initial_states.

Raises:
    As causal_conv1d_forward().)";

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_LAYER_DOCSTRINGS_H_
