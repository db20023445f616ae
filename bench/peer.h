/* What another implementation offers so that cpu_bench can measure it beside tilescan, in the same
 * rounds: a shared library with the functions below, opened with dlopen() by `cpu_bench --peer
 * PATH`.
 *
 * All operands are compact fp32 arrays, row-major, in tilescan's order of dimensions:
 *   x (batch, seqlen, nheads, headdim)    dt (batch, seqlen, nheads), before softplus
 *   A (nheads)                            B, C (batch, seqlen, ngroups, dstate)
 *   initial_states (batch, nheads, headdim, dstate)
 * What is computed is the recurrence of include/tilescan/tilescan.h with dt_softplus set and
 * without dt_bias, dt_limit, D and z: state_t = exp(softplus(dt_t) * A) * state_{t-1} +
 * softplus(dt_t) * x_t (outer) B_t out_t   = state_t . C_t
 *
 * Rules for the library behind it:
 * - Creating an instance copies every operand, so that running it takes nothing but the work
 * itself, and places each copy on a 64-byte boundary: an operand off it can cost a peer a good part
 * of its speed, and a ratio to that would be no merit.
 * - Creating and destroying may be slow; running allocates nothing and computes on num_threads
 *   threads, the caller being one of them or waiting.
 * - No exception leaves it, and it neither exits nor aborts on what can be told beforehand: it
 *   returns a status and keeps a message.
 * - It exports these functions and nothing else, so that libraries inside it meet no others.
 * - An instance is used by one thread at a time, the one that created it.
 *
 * Rules for the caller:
 * - After a peer's run, wait TILESCAN_PEER_PAUSE_MS before timing anything else: workers of an
 *   OpenMP runtime go on spinning for a while and take processor time from whatever comes next (15
 * % of the next implementation's speed, seen with libgomp on two cores). Do not shorten that by
 *   OMP_WAIT_POLICY=passive or GOMP_SPINCOUNT: then the peer's own parallel regions start late, and
 *   it is slower than where it is at home.
 */
#ifndef TILESCAN_BENCH_PEER_H_
#define TILESCAN_BENCH_PEER_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TILESCAN_PEER_API __attribute__((visibility("default")))

/* Raised when anything below changes. */
#define TILESCAN_PEER_VERSION 1

#define TILESCAN_PEER_PAUSE_MS 40

typedef enum tilescan_peer_status {
  TILESCAN_PEER_OK = 0,
  TILESCAN_PEER_INVALID = 1,     /* a size or a pointer is wrong */
  TILESCAN_PEER_UNSUPPORTED = 2, /* the peer has no such operation, or not for these sizes */
  TILESCAN_PEER_OUT_OF_MEMORY = 3,
  TILESCAN_PEER_FAILED = 4 /* the peer itself reports a failure */
} tilescan_peer_status;

typedef struct tilescan_peer_sizes {
  int64_t batch;
  int64_t seqlen; /* 1 for a decoding instance */
  int64_t nheads;
  int64_t headdim;
  int64_t ngroups;
  int64_t dstate;
  int32_t num_threads;
} tilescan_peer_sizes;

typedef struct tilescan_peer_operands {
  const float* x;
  const float* dt;
  const float* A;
  const float* B;
  const float* C;
  const float* initial_states;
} tilescan_peer_operands;

typedef struct tilescan_peer_instance tilescan_peer_instance;

/* TILESCAN_PEER_VERSION of the header it was built with. Called first; nothing else is if it
 * differs. */
TILESCAN_PEER_API int32_t tilescan_peer_version(void);

/* The implementation's name in result files: "ggml". Static storage. */
TILESCAN_PEER_API const char* tilescan_peer_name(void);

/* Its version or commit and how it was built, for people to repeat. Static storage. */
TILESCAN_PEER_API const char* tilescan_peer_build(void);

/* Why this thread's last call did not return TILESCAN_PEER_OK; "" if none has failed. */
TILESCAN_PEER_API const char* tilescan_peer_last_error(void);

/* A scan over a prompt. A run starts from initial_states each time, so every run computes the same.
 */
TILESCAN_PEER_API tilescan_peer_status
tilescan_peer_create_scan(const tilescan_peer_sizes* sizes, const tilescan_peer_operands* operands,
                          tilescan_peer_instance** instance);

/* One decoding step for each of num_layers layers, which share all operands but have a state each,
 * initial_states at first. A run is a pass over all layers and leaves in each state what the next
 * step starts from, at the place it was read from: an implementation that writes the state
 * elsewhere copies it back as a part of the run. With more layers than a cache holds, every state
 * comes from memory. */
TILESCAN_PEER_API tilescan_peer_status tilescan_peer_create_state_update(
    const tilescan_peer_sizes* sizes, const tilescan_peer_operands* operands, int32_t num_layers,
    tilescan_peer_instance** instance);

TILESCAN_PEER_API tilescan_peer_status tilescan_peer_run(tilescan_peer_instance* instance);

/* What the last run computed, valid until the next run: out (batch, seqlen, nheads, headdim) of the
 * last layer, and the states (batch, nheads, headdim, dstate) of a layer in [0, num_layers), for a
 * scan the final states as layer 0. NULL for another layer. */
TILESCAN_PEER_API const float* tilescan_peer_out(const tilescan_peer_instance* instance);
TILESCAN_PEER_API const float* tilescan_peer_states(const tilescan_peer_instance* instance,
                                                    int32_t layer_idx);

/* NULL is allowed. */
TILESCAN_PEER_API void tilescan_peer_destroy(tilescan_peer_instance* instance);

#ifdef __cplusplus
}
#endif

#endif /* TILESCAN_BENCH_PEER_H_ */
