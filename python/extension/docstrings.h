// Signatures (as in the type stub) and docstrings of the module's functions; those of operations
// around the scan are in extension/layer_docstrings.h.
#ifndef TILESCAN_PYTHON_EXTENSION_DOCSTRINGS_H_
#define TILESCAN_PYTHON_EXTENSION_DOCSTRINGS_H_

namespace tilescan::python {

inline constexpr const char* kScanSignature =
    "def scan(x: tilescan._types.Array, dt: tilescan._types.Array, A: tilescan._types.Array, "
    "B: tilescan._types.Array, C: tilescan._types.Array, *, "
    "D: tilescan._types.Array | None = None, z: tilescan._types.Array | None = None, "
    "dt_bias: tilescan._types.Array | None = None, "
    "initial_states: tilescan._types.Array | None = None, "
    "seq_idx: tilescan._types.Array | None = None, "
    "cu_seqlens: tilescan._types.Array | None = None, "
    "out: tilescan._types.Array | None = None, "
    "final_states: tilescan._types.Array | None = None, "
    "states_out: tilescan._types.Array | None = None, dt_softplus: bool = False, "
    "dt_limit: tuple[float, float] | None = None, backend: str | None = None, "
    "kernel: str | None = None, instruction_set: str | None = None, chunk_size: int = 0, "
    "num_threads: int = 0, check_indices: bool = False, "
    "stream: tilescan._types.StreamLike = None, states_every: int = 0, "
    "return_final_states: bool = False, "
    "state_dtype: tilescan._types.DtypeLike = None) -> typing.Any";

inline constexpr const char* kScanDocstring =
    R"(The Mamba-2 recurrence over whole sequences.

For head h of group g = h // (nheads // ngroups), with dt the processed step::

    state_t = exp(dt_t * A) * state_{t-1} + dt_t * x_t (outer) B_t
    out_t   = state_t . C_t + D * x_t;  with z:  out_t *= silu(z_t)

The processed step is, in this order: dt as fp32, + dt_bias, softplus where dt_softplus is set, clamped
to dt_limit.

Arrays are those of NumPy, torch, CuPy or JAX, or any with DLPack or the buffer protocol, all on one
device. They are read and written in place, in any strides, 0 and negative ones too; nothing is copied.
"float" is fp32, bf16 or fp16 (float64 with backend="reference"); bf16 in NumPy is ml_dtypes.bfloat16.

Args:
    x: (batch, seqlen, nheads, headdim) float.
    dt: (batch, seqlen, nheads) float.
    A: (nheads) float; negative in a trained model.
    B: (batch, seqlen, ngroups, dstate), x's dtype or fp32; nheads % ngroups == 0.
    C: as B.
    D: (nheads) or (nheads, headdim) float.
    z: as x, in x's dtype.
    dt_bias: (nheads) float.
    initial_states: (batch, nheads, headdim, dstate) float; with cu_seqlens (num_seqs, ...).
    seq_idx: (batch, seqlen) int32: each change of id starts a new sequence from zero; a negative id
        is padding, where out is 0.
    cu_seqlens: (num_seqs + 1) int32 or int64, with batch 1: where packed sequences begin and end.
    out: where to write; as x, in x's dtype. Made if not given.
    final_states: where to write; shape of initial_states, float. Made with return_final_states.
    states_out: where to write the states after tokens k, 2k, ..., k = states_every, of each sequence:
        (batch, seqlen // k, nheads, headdim, dstate) float; with cu_seqlens
        (1, seqlen // k + num_seqs, ...), sequence s from row cu_seqlens[s] // k + s on, other rows
        not written. Made if states_every is given.
    dt_softplus: softplus of dt + dt_bias.
    dt_limit: (least, greatest) processed step; (0, inf) if not given.
    backend: "cpu", "cuda" or "reference"; the arrays' device decides if not given.
    kernel, instruction_set: force a kernel or an instruction set by its name in tilescan.info().
    chunk_size: tokens in a tile; results depend on it by rounding only. 0: the kernel chooses.
    num_threads: threads of the CPU; 0: as many as the process may use. Results do not depend on it.
    check_indices: on a GPU, check the values of seq_idx and cu_seqlens first, which waits for the
        stream; on a CPU they are always checked.
    stream: the CUDA stream to run on: an integer, a stream of torch or CuPy, an object with
        __cuda_stream__. The framework's current stream if not given.
    states_every: see states_out.
    return_final_states: return the states after the last tokens, too.
    state_dtype: dtype of states made here: a name or a framework's dtype; float32 if not given.

Returns:
    out, or a tuple of those asked for in the order out, final_states, states_out. Arrays that were
    given are returned as they are; others are of x's framework, compact.

Outputs may not overlap operands or each other, except that final_states may be initial_states.

Raises:
    InvalidArgument (a ValueError): an operand is wrong; names all that is.
    Unsupported (a NotImplementedError): the backend or kernel cannot do it, or a gradient is needed.
    OutOfMemory (a MemoryError). TypeError: an argument of a wrong type.
    After an error no array has been written.)";

inline constexpr const char* kStateUpdateSignature =
    "def state_update(state: tilescan._types.Array, x: tilescan._types.Array, "
    "dt: tilescan._types.Array, A: tilescan._types.Array, B: tilescan._types.Array, "
    "C: tilescan._types.Array, *, D: tilescan._types.Array | None = None, "
    "z: tilescan._types.Array | None = None, dt_bias: tilescan._types.Array | None = None, "
    "state_batch_indices: tilescan._types.Array | None = None, "
    "fresh: tilescan._types.Array | None = None, "
    "num_accepted: tilescan._types.Array | None = None, "
    "out: tilescan._types.Array | None = None, dt_softplus: bool = False, "
    "dt_limit: tuple[float, float] | None = None, backend: str | None = None, "
    "kernel: str | None = None, instruction_set: str | None = None, chunk_size: int = 0, "
    "num_threads: int = 0, check_indices: bool = False, "
    "stream: tilescan._types.StreamLike = None) -> typing.Any";

inline constexpr const char* kStateUpdateDocstring =
    R"(One decoding step of the recurrence, or several, with the state updated in place.

The formula, arrays and options are those of scan(). Every operand may have its own float dtype;
arithmetic is fp32, and out uses the state before it is rounded. [T,] stands for a dimension of T tokens
that all operands with it have, or none.

Args:
    state: (slots, nheads, headdim, dstate) float; read and written. slots == batch without
        state_batch_indices.
    x: (batch, [T,] nheads, headdim) float.
    dt: (batch, [T,] nheads) float, or expanded (batch, [T,] nheads, headdim) with stride 0.
    A: (nheads) float, or expanded (nheads, headdim, dstate) with strides 0.
    B, C: (batch, [T,] ngroups, dstate) float; nheads % ngroups == 0.
    D: (nheads) or (nheads, headdim) float.
    z: as x, float.
    dt_bias: (nheads) float, or expanded (nheads, headdim) with stride 0.
    state_batch_indices: (batch) int32 or int64: the slot of each row, each slot once; a negative one
        is padding: no state is read or written, and out is 0.
    fresh: (batch) bool or uint8: where set, the slot counts as zeros, whatever it holds.
    num_accepted: (batch) int32 in 0..T: the state becomes that after the first num_accepted tokens;
        out covers all T.
    out: where to write; as x, float. Made in x's dtype if not given.
    chunk_size: has no meaning here and must be 0.
    dt_softplus, dt_limit, backend, kernel, instruction_set, num_threads, check_indices, stream: as in
        scan().

Returns:
    out. It may not overlap another operand.

Raises:
    As scan(). A value per channel in A, dt or dt_bias is Mamba-1's, and refused.)";

inline constexpr const char* kPlanSignature =
    "def plan(operation: str, *args: typing.Any, **kwargs: typing.Any) -> dict[str, "
    "typing.Any]";

inline constexpr const char* kPlanDocstring =
    R"(What a call would run, and why, without running it.

Args:
    operation: "scan", "state_update", "causal_conv1d_forward", "causal_conv1d_update",
        "rms_norm_gated" or "split_conv1d_scan".
    *args, **kwargs: the operation's arguments. Only shapes, strides and dtypes of arrays matter.

Returns:
    The plan: operation, backend, kernel, instruction_set, chunk_size, num_threads, workspace_bytes,
    sizes, reason, rejected (kernels not taken, each with the reason); of split_conv1d_scan also
    parts, the plans it is made of.

Raises:
    As the operation, for all that can be known without looking at values.)";

inline constexpr const char* kInfoDocstring =
    R"(The library and the machine: version, build, cpu, instruction_sets (each with whether this machine
has it), cuda (the current GPU, or why there is none), backends with their kernels.)";

inline constexpr const char* kPrepareDocstring =
    R"(Loads every kernel onto a GPU, by CUDA's number, or -1: the current one.

After it plans may be made while a CUDA graph is captured, and the first call takes no longer than
others. Raises Unsupported if this build has no CUDA, or there is no GPU that it can use.)";

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_DOCSTRINGS_H_
