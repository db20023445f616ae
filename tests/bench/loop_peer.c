/* A peer (bench/peer.h) that is the recurrence in plain loops: the smallest there can be. Built
 * with a fault where the tests of cpu_bench want one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/peer.h"

#ifndef LOOP_PEER_VERSION
#define LOOP_PEER_VERSION TILESCAN_PEER_VERSION
#endif
/* The head whose out is made wrong; -1: none. */
#ifndef LOOP_PEER_WRONG_HEAD
#define LOOP_PEER_WRONG_HEAD -1
#endif

struct tilescan_peer_instance {
  tilescan_peer_sizes sizes;
  int is_update;
  int32_t num_layers;
  size_t state_count;
  float *x, *dt, *A, *B, *C, *initial_states;
  float *out, *states; /* (num_layers, batch, nheads, headdim, dstate) */
};

static const char* last_error = "";

int32_t tilescan_peer_version(void) { return LOOP_PEER_VERSION; }
const char* tilescan_peer_name(void) { return "loops"; }
const char* tilescan_peer_build(void) { return "plain loops"; }
const char* tilescan_peer_last_error(void) { return last_error; }

static float* Copy(const float* from, size_t count) {
  float* to = malloc(count * sizeof(float));
  if (to != NULL && from != NULL) memcpy(to, from, count * sizeof(float));
  return to;
}

void tilescan_peer_destroy(tilescan_peer_instance* instance) {
  if (instance == NULL) return;
  free(instance->x);
  free(instance->dt);
  free(instance->A);
  free(instance->B);
  free(instance->C);
  free(instance->initial_states);
  free(instance->out);
  free(instance->states);
  free(instance);
}

static tilescan_peer_status Create(const tilescan_peer_sizes* sizes,
                                   const tilescan_peer_operands* operands, int is_update,
                                   int32_t num_layers, tilescan_peer_instance** result) {
  const size_t tokens = (size_t)(sizes->batch * sizes->seqlen);
  const size_t x_count = tokens * (size_t)(sizes->nheads * sizes->headdim);
  const size_t B_count = tokens * (size_t)(sizes->ngroups * sizes->dstate);
  tilescan_peer_instance* instance = calloc(1, sizeof(*instance));
  *result = NULL;
  if (instance == NULL) return TILESCAN_PEER_OUT_OF_MEMORY;
  instance->sizes = *sizes;
  instance->is_update = is_update;
  instance->num_layers = num_layers;
  instance->state_count = (size_t)(sizes->batch * sizes->nheads * sizes->headdim * sizes->dstate);
  instance->x = Copy(operands->x, x_count);
  instance->dt = Copy(operands->dt, tokens * (size_t)sizes->nheads);
  instance->A = Copy(operands->A, (size_t)sizes->nheads);
  instance->B = Copy(operands->B, B_count);
  instance->C = Copy(operands->C, B_count);
  instance->initial_states = Copy(operands->initial_states, instance->state_count);
  instance->out = Copy(NULL, x_count);
  instance->states = Copy(NULL, instance->state_count * (size_t)num_layers);
  if (!instance->x || !instance->dt || !instance->A || !instance->B || !instance->C ||
      !instance->initial_states || !instance->out || !instance->states) {
    tilescan_peer_destroy(instance);
    return TILESCAN_PEER_OUT_OF_MEMORY;
  }
  for (int32_t layer_idx = 0; layer_idx < num_layers; ++layer_idx) {
    memcpy(instance->states + (size_t)layer_idx * instance->state_count, instance->initial_states,
           instance->state_count * sizeof(float));
  }
  *result = instance;
  return TILESCAN_PEER_OK;
}

tilescan_peer_status tilescan_peer_create_scan(const tilescan_peer_sizes* sizes,
                                               const tilescan_peer_operands* operands,
                                               tilescan_peer_instance** instance) {
  return Create(sizes, operands, 0, 1, instance);
}

tilescan_peer_status tilescan_peer_create_state_update(const tilescan_peer_sizes* sizes,
                                                       const tilescan_peer_operands* operands,
                                                       int32_t num_layers,
                                                       tilescan_peer_instance** instance) {
  return Create(sizes, operands, 1, num_layers, instance);
}

/* One token of one head: state (headdim, dstate), x and out (headdim), B and C (dstate). */
static void StepHead(const tilescan_peer_sizes* sizes, double dt, double dA, const float* x,
                     const float* B, const float* C, float* state, float* out) {
  for (int64_t channel = 0; channel < sizes->headdim; ++channel) {
    double sum = 0.0;
    for (int64_t n = 0; n < sizes->dstate; ++n, ++state) {
      *state = (float)(*state * dA + dt * x[channel] * B[n]);
      sum += (double)*state * C[n];
    }
    out[channel] = (float)sum;
  }
}

static void RunLayer(tilescan_peer_instance* instance, float* states) {
  const tilescan_peer_sizes* sizes = &instance->sizes;
  const int64_t state_size = sizes->headdim * sizes->dstate;
  for (int64_t token = 0; token < sizes->batch * sizes->seqlen; ++token) {
    const int64_t batch_idx = token / sizes->seqlen;
    for (int64_t head = 0; head < sizes->nheads; ++head) {
      const int64_t head_idx = token * sizes->nheads + head;
      const int64_t group_idx = token * sizes->ngroups + head / (sizes->nheads / sizes->ngroups);
      const double dt = log1p(exp((double)instance->dt[head_idx]));
      float* out = instance->out + head_idx * sizes->headdim;
      StepHead(sizes, dt, exp(dt * instance->A[head]), instance->x + head_idx * sizes->headdim,
               instance->B + group_idx * sizes->dstate, instance->C + group_idx * sizes->dstate,
               states + (batch_idx * sizes->nheads + head) * state_size, out);
      if (head == LOOP_PEER_WRONG_HEAD) out[0] += 1.0f;
    }
  }
}

tilescan_peer_status tilescan_peer_run(tilescan_peer_instance* instance) {
#ifdef LOOP_PEER_FAILS
  (void)instance;
  last_error = "it does not like to";
  return TILESCAN_PEER_FAILED;
#else
  if (!instance->is_update) {
    memcpy(instance->states, instance->initial_states, instance->state_count * sizeof(float));
  }
  for (int32_t layer_idx = 0; layer_idx < instance->num_layers; ++layer_idx) {
    RunLayer(instance, instance->states + (size_t)layer_idx * instance->state_count);
  }
  return TILESCAN_PEER_OK;
#endif
}

const float* tilescan_peer_out(const tilescan_peer_instance* instance) { return instance->out; }

const float* tilescan_peer_states(const tilescan_peer_instance* instance, int32_t layer_idx) {
  if (layer_idx < 0 || layer_idx >= instance->num_layers) return NULL;
  return instance->states + (size_t)layer_idx * instance->state_count;
}
