/* tilescan: the operations around the scan in a Mamba-2 layer: the causal convolution before it,
 * the gated norm behind it, and the three as one. Part of the public C interface, included by
 * tilescan/tilescan.h, whose words on calls, statuses, streams and GPUs hold here too.
 *
 * Names and formulas are those of the public implementations: causal_conv1d (causal_conv1d_ref,
 * causal_conv1d_update_ref) and mamba_ssm (ops/triton/layernorm_gated.py, rms_norm_ref).
 * "float" is fp32, bf16 or fp16. Arithmetic is fp32; a result is rounded once, to its dtype.
 * options->chunk_size has no meaning for these operations, but for split_conv1d_scan, and must be
 * 0.
 */
#ifndef TILESCAN_LAYER_H_
#define TILESCAN_LAYER_H_

#include "tilescan/tilescan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a convolution. */
#define TILESCAN_ACTIVATION_NONE 0
#define TILESCAN_ACTIVATION_SILU 1 /* also called swish */

/* ---- causal_conv1d, forward ------------------------------------------------------------------ */

/* A convolution of each channel by itself along the tokens, that looks back only:
 *
 *   out[t, c] = activation(bias[c] + sum over i < width of weight[c, i] * x[t - (width - 1) + i,
 * c])
 *
 * Operands are (batch, seqlen, dim) whatever their memory: channels side by side or tokens side by
 * side are strides. Pass the public implementation's (batch, dim, seqlen) with the last two
 * dimensions exchanged.
 *
 * Before a sequence's first token x is 0, or what initial_states hold: the x of the width - 1
 * tokens before it, the oldest first. final_states are the same for what comes behind the last
 * token, and where a sequence is shorter, initial states move up. What sequences are is as in the
 * scan: without seq_idx and cu_seqlens a batch row is one. With seq_idx no window reaches across a
 * change of id: each change starts a new sequence from zeros, initial_states go to the first
 * sequence of the row, final_states are those of the sequence last seen. A negative id is padding:
 * out is 0 there, x is not read, and windows pass over it as if it were not there. With cu_seqlens
 * (batch 1) sequence s is the tokens [cu_seqlens[s], cu_seqlens[s + 1]), with its own states; wrong
 * values as in the scan. Both together are an error.
 *
 * Aliasing: no output may overlap an input or another output, except that final_states may be the
 * same memory, dtype and strides as initial_states. */
typedef struct tilescan_causal_conv1d_forward_args {
  size_t struct_size;             /* set by tilescan_causal_conv1d_forward_args_init() */
  tilescan_tensor x;              /* (batch, seqlen, dim) float */
  tilescan_tensor weight;         /* (dim, width) float; width 2 to 4 */
  tilescan_tensor bias;           /* optional: (dim) float */
  tilescan_tensor initial_states; /* optional: (batch, dim, width - 1) float;
                                     with cu_seqlens (num_seqs, dim, width - 1) */
  tilescan_tensor seq_idx;        /* optional: (batch, seqlen) int32 */
  tilescan_tensor cu_seqlens;     /* optional: (num_seqs + 1) int32 or int64 */
  tilescan_tensor out;            /* as x, x's dtype */
  tilescan_tensor final_states;   /* optional: shape of initial_states, float, any dtype */
  int32_t activation;             /* TILESCAN_ACTIVATION_*; default NONE */
} tilescan_causal_conv1d_forward_args;

/* As tilescan_scan_forward_args_init_sized(). */
TILESCAN_API void tilescan_causal_conv1d_forward_args_init_sized(
    tilescan_causal_conv1d_forward_args* args, size_t struct_size);
static inline void tilescan_causal_conv1d_forward_args_init(
    tilescan_causal_conv1d_forward_args* args) {
  tilescan_causal_conv1d_forward_args_init_sized(args, sizeof(*args));
}

/* As tilescan_plan_scan_forward() and tilescan_run_scan_forward(). */
TILESCAN_API tilescan_status
tilescan_plan_causal_conv1d_forward(const tilescan_causal_conv1d_forward_args* args,
                                    const tilescan_options* options, tilescan_plan** plan);
TILESCAN_API tilescan_status tilescan_run_causal_conv1d_forward(
    const tilescan_plan* plan, const tilescan_causal_conv1d_forward_args* args, void* workspace,
    size_t workspace_bytes, void* stream);

/* ---- causal_conv1d_update (decoding) --------------------------------------------------------- */

/* The same convolution for one token, or T tokens at once, with the tokens before them kept in
 * conv_state, which is updated in place. Every operand may have its own dtype; windows take tokens
 * of this call as they are in x, not as conv_state rounds them.
 *
 * x without a token dimension, (batch, dim), is one token; with one, (batch, T, dim), T tokens.
 * Write [T,] for it.
 *
 * Without cache_seqlens conv_state is shifted: it holds the state_len tokens last seen, the oldest
 * first, of which windows use the last width - 1. With cache_seqlens it is a circular buffer: token
 * number n of a sequence is at n % state_len, and x[b, i] is token number cache_seqlens[b] + i.
 *
 * Slots. Batch row b uses conv_state[conv_state_indices[b]], or conv_state[b] without indices. A
 * negative index is padding: no state is read or written for that row, and its out is 0. An index
 * >= slots, or the same slot twice, or a negative number in cache_seqlens is
 * TILESCAN_INVALID_ARGUMENT on a CPU, or with check_indices; else an index >= slots counts as
 * padding, a slot given twice holds any mixture of its rows, and a negative number counts as itself
 * modulo state_len.
 *
 * Aliasing: no output may overlap an input or another output. */
typedef struct tilescan_causal_conv1d_update_args {
  size_t struct_size;         /* set by tilescan_causal_conv1d_update_args_init() */
  tilescan_tensor conv_state; /* in and out: (slots, dim, state_len) float; state_len >= width - 1;
                                 slots == batch without conv_state_indices */
  tilescan_tensor x;          /* (batch, [T,] dim) float */
  tilescan_tensor weight;     /* (dim, width) float; width 2 to 4 */
  tilescan_tensor bias;       /* optional: (dim) float */
  tilescan_tensor conv_state_indices; /* optional: (batch) int32 or int64 */
  tilescan_tensor cache_seqlens;      /* optional: (batch) int32 */
  tilescan_tensor out;                /* as x, float */
  int32_t activation;                 /* TILESCAN_ACTIVATION_*; default NONE */
} tilescan_causal_conv1d_update_args;

/* As tilescan_scan_forward_args_init_sized(). */
TILESCAN_API void tilescan_causal_conv1d_update_args_init_sized(
    tilescan_causal_conv1d_update_args* args, size_t struct_size);
static inline void tilescan_causal_conv1d_update_args_init(
    tilescan_causal_conv1d_update_args* args) {
  tilescan_causal_conv1d_update_args_init_sized(args, sizeof(*args));
}

/* As tilescan_plan_scan_forward() and tilescan_run_scan_forward(). */
TILESCAN_API tilescan_status
tilescan_plan_causal_conv1d_update(const tilescan_causal_conv1d_update_args* args,
                                   const tilescan_options* options, tilescan_plan** plan);
TILESCAN_API tilescan_status tilescan_run_causal_conv1d_update(
    const tilescan_plan* plan, const tilescan_causal_conv1d_update_args* args, void* workspace,
    size_t workspace_bytes, void* stream);

/* ---- rms_norm_gated, forward ----------------------------------------------------------------- */

/* RMSNorm over each group of group_size neighbouring channels, with a gate before or behind it:
 *
 *   norm(y) = y / sqrt(mean of y^2 over the group + eps) * weight + bias
 *   out = norm(x * silu(z))          when norm_before_gate is 0, as in Mamba-2 models
 *   out = norm(x) * silu(z)          when it is 1
 *
 * Without z there is no gate, without bias it is 0. Every operand may have its own dtype.
 * x may lack the token dimension: write [seqlen,] for it.
 *
 * Aliasing: out may be the same memory, dtype and strides as x; else it may overlap no input. */
typedef struct tilescan_rms_norm_gated_forward_args {
  size_t struct_size;       /* set by tilescan_rms_norm_gated_forward_args_init() */
  tilescan_tensor x;        /* (batch, [seqlen,] dim) float */
  tilescan_tensor weight;   /* (dim) float */
  tilescan_tensor bias;     /* optional: (dim) float */
  tilescan_tensor z;        /* optional: as x, float */
  tilescan_tensor out;      /* as x, float */
  int64_t group_size;       /* divides dim; 0 (the default): dim */
  float eps;                /* 0 or more, finite; default 1e-5 */
  int32_t norm_before_gate; /* 0 or 1; default 0 */
} tilescan_rms_norm_gated_forward_args;

/* As tilescan_scan_forward_args_init_sized(). */
TILESCAN_API void tilescan_rms_norm_gated_forward_args_init_sized(
    tilescan_rms_norm_gated_forward_args* args, size_t struct_size);
static inline void tilescan_rms_norm_gated_forward_args_init(
    tilescan_rms_norm_gated_forward_args* args) {
  tilescan_rms_norm_gated_forward_args_init_sized(args, sizeof(*args));
}

/* As tilescan_plan_scan_forward() and tilescan_run_scan_forward(). */
TILESCAN_API tilescan_status
tilescan_plan_rms_norm_gated_forward(const tilescan_rms_norm_gated_forward_args* args,
                                     const tilescan_options* options, tilescan_plan** plan);
TILESCAN_API tilescan_status tilescan_run_rms_norm_gated_forward(
    const tilescan_plan* plan, const tilescan_rms_norm_gated_forward_args* args, void* workspace,
    size_t workspace_bytes, void* stream);

/* ---- split_conv1d_scan, forward -------------------------------------------------------------- */

/* A Mamba-2 layer between its two projections, over whole sequences, as
 * mamba_split_conv1d_scan_combined of mamba_ssm (ops/triton/ssd_combined.py). With
 * dim = nheads * headdim and conv_dim = dim + 2 * ngroups * dstate the columns of zxbcdt are
 *
 *   z (dim), xBC (conv_dim), dt (nheads)
 *
 * and of the convolution's out x (dim), B (ngroups * dstate), C (ngroups * dstate); then
 *
 *   xBC = causal_conv1d(xBC)
 *   out = scan(x, dt, A, B, C, D, z)                          without rmsnorm_weight
 *   out = rms_norm_gated(scan(x, dt, A, B, C, D), z)          with it
 *
 * where xBC behind the convolution, and the scan's out before the norm, are rounded to zxbcdt's
 * dtype: the result has the bits of these operations called one after another, on such views of
 * zxbcdt, with the same kernels. Every size but ngroups follows from the shapes: dim is what
 * conv_dim and nheads leave of zxbcdt's columns. Where zxbcdt has further columns in front, as in
 * layers with an MLP beside, describe it without them.
 *
 * What sequences, seq_idx and cu_seqlens are and do is as in the two operations over sequences. At
 * a negative id the scan's out is 0, so out is 0 too, but NaN where a norm meets a z that is not
 * finite, or an eps of 0.
 *
 * options->kernel and chunk_size are the scan's; the others hold for all parts. A plan describes
 * itself as the scan in it (but sizes and workspace_bytes), and has the plans of all parts in
 * "parts". The workspace holds xBC: it grows with seqlen on a CPU, too.
 *
 * Aliasing: no output may overlap an input or another output, except that final_states may be the
 * same memory, dtype and strides as initial_states, and conv_final_states as
 * conv_initial_states. */
typedef struct tilescan_split_conv1d_scan_forward_args {
  size_t struct_size;                  /* set by tilescan_split_conv1d_scan_forward_args_init() */
  tilescan_tensor zxbcdt;              /* (batch, seqlen, dim + conv_dim + nheads) float */
  tilescan_tensor conv1d_weight;       /* (conv_dim, width) float; width 2 to 4 */
  tilescan_tensor A;                   /* (nheads) float */
  tilescan_tensor conv1d_bias;         /* optional: (conv_dim) float */
  tilescan_tensor dt_bias;             /* optional: (nheads) float */
  tilescan_tensor D;                   /* optional: (nheads) or (nheads, headdim) float */
  tilescan_tensor rmsnorm_weight;      /* optional: (dim) float */
  tilescan_tensor initial_states;      /* optional: (batch, nheads, headdim, dstate) float;
                                          with cu_seqlens (num_seqs, nheads, headdim, dstate) */
  tilescan_tensor conv_initial_states; /* optional: (batch, conv_dim, width - 1) float;
                                          with cu_seqlens (num_seqs, conv_dim, width - 1) */
  tilescan_tensor seq_idx;             /* optional: (batch, seqlen) int32 */
  tilescan_tensor cu_seqlens;          /* optional: (num_seqs + 1) int32 or int64 */
  tilescan_tensor out;                 /* (batch, seqlen, dim), zxbcdt's dtype */
  tilescan_tensor final_states;        /* optional: shape of initial_states, float */
  tilescan_tensor conv_final_states;   /* optional: shape of conv_initial_states, float */
  int64_t ngroups;                     /* divides nheads; default 1 */
  int64_t group_size;       /* of the norm: divides dim; 0 (the default): dim / ngroups */
  float rmsnorm_eps;        /* 0 or more, finite; default 1e-5 */
  int32_t norm_before_gate; /* 0 or 1; default 0 */
  int32_t activation;       /* of the convolution: TILESCAN_ACTIVATION_*; default NONE */
  int32_t dt_softplus;      /* 0 or 1 */
  float dt_limit[2];        /* as in the scan; default 0, infinity */
} tilescan_split_conv1d_scan_forward_args;

/* As tilescan_scan_forward_args_init_sized(). */
TILESCAN_API void tilescan_split_conv1d_scan_forward_args_init_sized(
    tilescan_split_conv1d_scan_forward_args* args, size_t struct_size);
static inline void tilescan_split_conv1d_scan_forward_args_init(
    tilescan_split_conv1d_scan_forward_args* args) {
  tilescan_split_conv1d_scan_forward_args_init_sized(args, sizeof(*args));
}

/* As tilescan_plan_scan_forward() and tilescan_run_scan_forward(). */
TILESCAN_API tilescan_status
tilescan_plan_split_conv1d_scan_forward(const tilescan_split_conv1d_scan_forward_args* args,
                                        const tilescan_options* options, tilescan_plan** plan);
TILESCAN_API tilescan_status tilescan_run_split_conv1d_scan_forward(
    const tilescan_plan* plan, const tilescan_split_conv1d_scan_forward_args* args, void* workspace,
    size_t workspace_bytes, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* TILESCAN_LAYER_H_ */
