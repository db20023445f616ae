/* tilescan: the Mamba-2 recurrence (state-space duality, SSD). Public C interface.
 *
 * For head h of group g = h / (nheads / ngroups), with dt the processed step:
 *
 *   state_t = exp(dt_t * A) * state_{t-1} + dt_t * x_t (outer) B_t
 *   out_t   = state_t . C_t + D * x_t ;  with z:  out_t *= silu(z_t)
 *
 * (Dao and Gu, "Transformers are SSMs", 2024; names as in the public Mamba-2 implementation.)
 * The processed step is, in this order: dt as fp32, + dt_bias, softplus when dt_softplus is set
 * (the identity above 20), clamped to dt_limit.
 *
 * How a call goes: describe the operands once in an args struct, make a plan, give the plan a
 * workspace of the size it asks for, run it as often as wanted with operands of the same shapes,
 * strides, dtypes and presence.
 *
 *   tilescan_scan_forward_args args;
 *   tilescan_scan_forward_args_init(&args);
 *   args.x = tilescan_contiguous(x, tilescan_float32(), 4, x_shape);
 *   ...
 *   tilescan_plan* plan = NULL;
 *   if (tilescan_plan_scan_forward(&args, NULL, &plan) != TILESCAN_OK)
 *     fprintf(stderr, "%s\n", tilescan_last_error());
 *   void* workspace = malloc(tilescan_plan_workspace_bytes(plan));
 *   tilescan_run_scan_forward(plan, &args, workspace, tilescan_plan_workspace_bytes(plan), NULL);
 *   tilescan_plan_destroy(plan);
 *
 * Every function returns a status or a plain value; none throws, prints, exits or aborts. After a
 * status other than TILESCAN_OK, tilescan_last_error() holds the reason, for the calling thread,
 * and no operand has been written (but for TILESCAN_INTERNAL from a GPU, where kernels before the
 * one that failed may have run). Running allocates no memory. A plan is immutable: it may be run
 * from several threads at once, each with its own workspace and its own outputs.
 *
 * On a GPU (backend "cuda") operands and workspace are memory of the calling thread's current GPU,
 * the same when planning and when running. A run is enqueued on a stream and does not wait; it may
 * be captured in a CUDA graph, the first one too. Values inside operands are not looked at by the
 * host, unless options ask for it (check_indices): see each operation for what wrong ones do.
 */
#ifndef TILESCAN_TILESCAN_H_
#define TILESCAN_TILESCAN_H_

#include <stddef.h>
#include <stdint.h>

#include "tilescan/types.h"
#include "tilescan/version.h"

#if defined(_WIN32)
#if defined(TILESCAN_BUILDING)
#define TILESCAN_API __declspec(dllexport)
#else
#define TILESCAN_API __declspec(dllimport)
#endif
#else
#define TILESCAN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

/* The name of a status ("invalid argument"), or "unknown status". Never NULL; static storage. */
TILESCAN_API const char* tilescan_status_name(tilescan_status status);

/* The message of the calling thread's last call that failed; "" if none has. Valid until the next
 * call of the same thread. */
TILESCAN_API const char* tilescan_last_error(void);

/* "major.minor.patch" of the library that is loaded (TILESCAN_VERSION_STRING is the header's). */
TILESCAN_API const char* tilescan_version(void);

/* ---- Options --------------------------------------------------------------------------------- */

/* One unit of parallel work: task_idx in [0, num_tasks). */
typedef void (*tilescan_task)(void* task_context, int32_t task_idx);

/* Where CPU work runs, for programs that own a thread pool. parallel_for must call
 * task(task_context, i) exactly once for each i in [0, num_tasks), on any threads, in any order,
 * one after another if it likes, and return when all are done. */
typedef struct tilescan_executor {
  void* context;
  void (*parallel_for)(void* context, int32_t num_tasks, tilescan_task task, void* task_context);
} tilescan_executor;

/* How to compute. Fill with tilescan_options_init() first. NULL for options: the defaults. */
typedef struct tilescan_options {
  size_t struct_size; /* set by tilescan_options_init() */
  /* "cpu", "cuda" (a GPU, in a build with CUDA) or "reference" (float64, plain loops; the only one
   * that takes float64 operands). NULL: "cpu", or "reference" when an operand is float64. */
  const char* backend;
  /* The name of a kernel, as a plan describes it, to force that one. NULL: the planner chooses. */
  const char* kernel;
  /* "scalar", "avx2", "avx512", ...: forces an instruction set (TILESCAN_UNSUPPORTED if the
   * machine lacks it). NULL: the planner chooses. */
  const char* instruction_set;
  /* Tokens in a tile of the scan; results depend on it by rounding only. 0: the kernel chooses. */
  int64_t chunk_size;
  /* CPU threads. 0: as many as the process may use. Results do not depend on it. */
  int32_t num_threads;
  /* Runs the CPU work instead of the library's own threads, if set. Read when planning; must
   * outlive the plan. */
  const tilescan_executor* executor;
  /* 0 or 1. 1: a run on a GPU first reads the values of index operands, as a run on a CPU always
   * does, and refuses wrong ones with the same message. To find faults: the run waits for what its
   * stream holds, allocates host memory, and is refused while the stream is being captured. */
  int32_t check_indices;
} tilescan_options;

/* Sets every option to its default. struct_size: that of the caller's header, which another version
 * of the library respects. */
TILESCAN_API void tilescan_options_init_sized(tilescan_options* options, size_t struct_size);
static inline void tilescan_options_init(tilescan_options* options) {
  tilescan_options_init_sized(options, sizeof(*options));
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* Loads every kernel onto a GPU, of the number that CUDA gives it, or of -1: the calling thread's
 * current one; that stays current. Planning does so for the kernels of its problem, so a run may be
 * captured without this call; after it plans may be made during a capture too, and the first plan
 * takes no longer than others. Not to be called while a stream is being captured.
 * TILESCAN_UNSUPPORTED: this build has no CUDA, or there is no GPU that it can use. */
TILESCAN_API tilescan_status tilescan_prepare(int32_t device);

/* ---- Plans ----------------------------------------------------------------------------------- */

typedef struct tilescan_plan tilescan_plan;

/* Frees a plan. NULL is allowed. */
TILESCAN_API void tilescan_plan_destroy(tilescan_plan* plan);

/* Bytes of workspace a run of this plan needs; any alignment. Bounded whatever seqlen, except on a
 * GPU, and of split_conv1d_scan_forward. The content before a run does not matter, and is undefined
 * after it. */
TILESCAN_API size_t tilescan_plan_workspace_bytes(const tilescan_plan* plan);

/* Writes what would run and why as a JSON object: operation, backend, kernel, instruction_set,
 * chunk_size, num_threads, workspace_bytes, sizes, reason, rejected (kernels not taken, with the
 * reason). Writes at most capacity bytes including the terminating 0 and returns the length of the
 * whole text without it (call with capacity 0 to learn it). */
TILESCAN_API size_t tilescan_plan_describe(const tilescan_plan* plan, char* buffer,
                                           size_t capacity);

/* Describes the library and the machine as a JSON object: version, build (compiler, type), cpu
 * (name, threads, caches), instruction_sets (each with whether this machine has it), cuda (the
 * current GPU, or why there is none), backends with their kernels. Same buffer rules as
 * tilescan_plan_describe(). */
TILESCAN_API size_t tilescan_info(char* buffer, size_t capacity);

/* ---- scan, forward --------------------------------------------------------------------------- */

/* Operands of the scan. Absent operands stay all zero. "float" is fp32, bf16 or fp16.
 *
 * Sequences. Without seq_idx and cu_seqlens each batch row is one sequence.
 * With seq_idx, each change of id along a row starts a new sequence from a zero state;
 * initial_states go to the first sequence of the row. A negative id is padding: out is 0 there, the
 * state passes it unchanged, and its other operands are not used. An id may return, as a new
 * sequence. final_states and states_out hold the state of the sequence last seen.
 * With cu_seqlens (batch 1) sequence s is the tokens [cu_seqlens[s], cu_seqlens[s + 1]), each from
 * its own initial state; the final state of an empty sequence is its initial state bit for bit
 * (zero without initial_states). cu_seqlens begins with 0, does not decrease and ends with seqlen;
 * other values are TILESCAN_INVALID_ARGUMENT when running on a CPU, or with check_indices; else
 * they give some result, and no access outside the operands. Both together are an error.
 *
 * Aliasing: no output may overlap an input or another output, except that final_states may be the
 * same memory, dtype and strides as initial_states.
 * Precision: sums and states are fp32; fp32 operands are multiplied in fp32. On a GPU, and by
 * the CPU's kernel chunked_amx, products of 16-bit operands are of operands rounded to bf16 or
 * tf32, with sums in fp32 (docs/numerics.md). */
typedef struct tilescan_scan_forward_args {
  size_t struct_size;      /* set by tilescan_scan_forward_args_init() */
  tilescan_tensor x;       /* (batch, seqlen, nheads, headdim) float */
  tilescan_tensor dt;      /* (batch, seqlen, nheads) float; before bias and softplus */
  tilescan_tensor A;       /* (nheads) float; negative in a trained model; any value is computed */
  tilescan_tensor B;       /* (batch, seqlen, ngroups, dstate) x's dtype or fp32;
                              nheads % ngroups == 0 */
  tilescan_tensor C;       /* as B, B's dtype */
  tilescan_tensor D;       /* optional: (nheads) or (nheads, headdim) float */
  tilescan_tensor z;       /* optional: as x, x's dtype */
  tilescan_tensor dt_bias; /* optional: (nheads) float */
  tilescan_tensor initial_states; /* optional: (batch, nheads, headdim, dstate) float;
                                     with cu_seqlens (num_seqs, nheads, headdim, dstate) */
  tilescan_tensor seq_idx;        /* optional: (batch, seqlen) int32 */
  tilescan_tensor cu_seqlens;     /* optional: (num_seqs + 1) int32 or int64 */
  tilescan_tensor out;            /* as x, x's dtype */
  tilescan_tensor final_states;   /* optional: shape of initial_states, float, any dtype */
  /* Optional: the states after tokens k, 2k, ... of each sequence, k = states_every:
   * (batch, seqlen / k, nheads, headdim, dstate) float. With cu_seqlens (1, seqlen / k + num_seqs,
   * nheads, headdim, dstate): sequence s has its own grid, beginning at row
   * cu_seqlens[s] / k + s; rows of no sequence are not written. Divisions round down. */
  tilescan_tensor states_out;
  int64_t states_every; /* >= 1 with states_out, else 0 */
  int32_t dt_softplus;  /* 0 or 1 */
  float dt_limit[2];    /* the processed step is clamped to [dt_limit[0], dt_limit[1]];
                           default 0, infinity */
} tilescan_scan_forward_args;

/* Sets every operand absent and every option to its default; struct_size as in
 * tilescan_options_init_sized(). */
TILESCAN_API void tilescan_scan_forward_args_init_sized(tilescan_scan_forward_args* args,
                                                        size_t struct_size);
static inline void tilescan_scan_forward_args_init(tilescan_scan_forward_args* args) {
  tilescan_scan_forward_args_init_sized(args, sizeof(*args));
}

/* Checks the operands' shapes, strides and dtypes (not their memory), chooses a kernel, and makes
 * a plan, to be freed with tilescan_plan_destroy(). On failure *plan is NULL. */
TILESCAN_API tilescan_status tilescan_plan_scan_forward(const tilescan_scan_forward_args* args,
                                                        const tilescan_options* options,
                                                        tilescan_plan** plan);

/* Runs the scan. args: shapes, strides, dtypes, presence and options as planned; data may differ
 * from run to run. workspace: at least tilescan_plan_workspace_bytes(plan) bytes, not overlapping
 * an operand. stream: NULL for the CPU and the reference, which return when the work is done; on a
 * GPU a cudaStream_t (NULL: the default stream), on which the work is enqueued. */
TILESCAN_API tilescan_status tilescan_run_scan_forward(const tilescan_plan* plan,
                                                       const tilescan_scan_forward_args* args,
                                                       void* workspace, size_t workspace_bytes,
                                                       void* stream);

/* ---- state_update (decoding) ----------------------------------------------------------------- */

/* One decoding step, or T steps at once, with the state updated in place. "float" is fp32, bf16 or
 * fp16; every operand may have its own. Arithmetic is fp32; out uses the state before it is
 * rounded to its dtype.
 *
 * x without a token dimension, (batch, nheads, headdim), is one step; with one,
 * (batch, T, nheads, headdim), T steps. The other operands follow x: write [T,] for it.
 *
 * Slots. Batch row b uses state[state_batch_indices[b]], or state[b] without indices. A negative
 * index is padding: no state is read or written for that row, and its out is 0. An index >= slots,
 * or the same slot twice, is TILESCAN_INVALID_ARGUMENT on a CPU, or with check_indices; else an
 * index >= slots counts as padding, and a slot given twice holds what either row made of it.
 * fresh[b] != 0: the slot counts as zeros, whatever it holds.
 * num_accepted[b] in 0..T: the state becomes that after the first num_accepted[b] tokens, while out
 * covers all T; absent: T. Rejected tokens never reach the state. To verify drafts, call with 0
 * (which leaves the state's bits, or writes zeros where fresh), then again with the count.
 *
 * A, dt, dt_bias and D may come expanded as the public implementation passes them, with stride 0
 * along the added dimensions; a value per channel is refused (that is Mamba-1), except for D.
 *
 * Aliasing: no output may overlap an input or another output. */
typedef struct tilescan_state_update_args {
  size_t struct_size;    /* set by tilescan_state_update_args_init() */
  tilescan_tensor state; /* in and out: (slots, nheads, headdim, dstate) float; slots == batch
                            without state_batch_indices */
  tilescan_tensor x;     /* (batch, [T,] nheads, headdim) float */
  tilescan_tensor dt;    /* (batch, [T,] nheads) float, or expanded (batch, [T,] nheads, headdim) */
  tilescan_tensor A;     /* (nheads) float, or expanded (nheads, headdim, dstate) */
  tilescan_tensor B;     /* (batch, [T,] ngroups, dstate) float; nheads % ngroups == 0 */
  tilescan_tensor C;     /* (batch, [T,] ngroups, dstate) float */
  tilescan_tensor D;     /* optional: (nheads) or (nheads, headdim) float */
  tilescan_tensor z;     /* optional: as x, float */
  tilescan_tensor dt_bias;             /* optional: (nheads) float, or expanded (nheads, headdim) */
  tilescan_tensor state_batch_indices; /* optional: (batch) int32 or int64 */
  tilescan_tensor fresh;               /* optional: (batch) bool or uint8 */
  tilescan_tensor num_accepted;        /* optional: (batch) int32; values 0..T */
  tilescan_tensor out;                 /* as x, float */
  int32_t dt_softplus;                 /* 0 or 1 */
  float dt_limit[2];                   /* as in the scan; default 0, infinity */
} tilescan_state_update_args;

/* As tilescan_scan_forward_args_init_sized(). */
TILESCAN_API void tilescan_state_update_args_init_sized(tilescan_state_update_args* args,
                                                        size_t struct_size);
static inline void tilescan_state_update_args_init(tilescan_state_update_args* args) {
  tilescan_state_update_args_init_sized(args, sizeof(*args));
}

/* As tilescan_plan_scan_forward(). options->chunk_size has no meaning here and must be 0. */
TILESCAN_API tilescan_status tilescan_plan_state_update(const tilescan_state_update_args* args,
                                                        const tilescan_options* options,
                                                        tilescan_plan** plan);

/* As tilescan_run_scan_forward(). */
TILESCAN_API tilescan_status tilescan_run_state_update(const tilescan_plan* plan,
                                                       const tilescan_state_update_args* args,
                                                       void* workspace, size_t workspace_bytes,
                                                       void* stream);

#ifdef __cplusplus
}
#endif

/* The operations around the scan. */
#include "tilescan/layer.h" /* NOLINT(misc-header-include-cycle): either may be included first */

#endif /* TILESCAN_TILESCAN_H_ */
