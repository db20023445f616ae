#include "reference/stages.h"

#include <algorithm>
#include <cmath>

#include "core/check_indices.h"
#include "reference/recurrence.h"
#include "reference/scan_head.h"
#include "reference/scan_walk.h"

namespace tilescan::reference {
namespace {

double Dot(const double* left, const double* right, int64_t count) {
  double sum = 0.0;
  for (int64_t idx = 0; idx < count; ++idx) sum += left[idx] * right[idx];
  return sum;
}

}  // namespace

void ChunkCumsum(double A, const Chunk& chunk) {
  double sum = 0.0;
  for (int64_t i = 0; i < chunk.num_tokens; ++i) {
    chunk.dA[i] = chunk.dt[i] * A;
    sum += chunk.dA[i];
    chunk.dA_cumsum[i] = sum;
  }
  sum = 0.0;
  for (int64_t i = chunk.num_tokens - 1; i >= 0; --i) {
    chunk.dA_remaining[i] = sum;
    sum += chunk.dA[i];
  }
}

void ComputeOut(const Chunk& chunk, const double* state) {
  const int64_t headdim = chunk.headdim;
  const int64_t dstate = chunk.dstate;
  // What the state before the chunk gives: e^{a_i} H C_i.
  for (int64_t i = 0; i < chunk.num_tokens; ++i) {
    const double decay = std::exp(chunk.dA_cumsum[i]);
    for (int64_t channel = 0; channel < headdim; ++channel) {
      chunk.y[i * headdim + channel] =
          decay * Dot(state + channel * dstate, chunk.C + i * dstate, dstate);
    }
  }
  // What token j gives to itself and to later tokens i.
  for (int64_t j = 0; j < chunk.num_tokens; ++j) {
    double sum = 0.0;  // a_i - a_j
    for (int64_t i = j; i < chunk.num_tokens; ++i) {
      if (i > j) sum += chunk.dA[i];
      const double CB = Dot(chunk.C + i * dstate, chunk.B + j * dstate, dstate);
      const double weight = std::exp(sum) * chunk.dt[j] * CB;
      for (int64_t channel = 0; channel < headdim; ++channel) {
        chunk.y[i * headdim + channel] += weight * chunk.x[j * headdim + channel];
      }
    }
  }
}

void PassState(const Chunk& chunk, double* state) {
  const int64_t last = chunk.num_tokens - 1;
  const double decay = std::exp(chunk.dA_cumsum[last]);
  for (int64_t channel = 0; channel < chunk.headdim; ++channel) {
    double* state_row = state + channel * chunk.dstate;
    for (int64_t n = 0; n < chunk.dstate; ++n) state_row[n] *= decay;
    for (int64_t j = 0; j < chunk.num_tokens; ++j) {
      const double weight =
          std::exp(chunk.dA_remaining[j]) * chunk.dt[j] * chunk.x[j * chunk.headdim + channel];
      for (int64_t n = 0; n < chunk.dstate; ++n) {
        state_row[n] += weight * chunk.B[j * chunk.dstate + n];
      }
    }
  }
}

namespace {

struct Buffers {
  Chunk chunk;    // room for a whole chunk; x, B, C of a token are read straight into their rows
  double* state;  // (headdim, dstate)
  double* out;    // (headdim)
  double* D;      // (headdim)
  double* z;      // (headdim)
};

Buffers Carve(const ScanSizes& sizes, int64_t chunk_size, Carver& carver) {
  Buffers buffers;
  Chunk& chunk = buffers.chunk;
  chunk.headdim = sizes.headdim;
  chunk.dstate = sizes.dstate;
  chunk.dt = carver.Take<double>(chunk_size);
  chunk.x = carver.Take<double>(chunk_size * sizes.headdim);
  chunk.B = carver.Take<double>(chunk_size * sizes.dstate);
  chunk.C = carver.Take<double>(chunk_size * sizes.dstate);
  chunk.dA = carver.Take<double>(chunk_size);
  chunk.dA_cumsum = carver.Take<double>(chunk_size);
  chunk.dA_remaining = carver.Take<double>(chunk_size);
  chunk.y = carver.Take<double>(chunk_size * sizes.headdim);
  buffers.state = carver.Take<double>(sizes.headdim * sizes.dstate);
  buffers.out = carver.Take<double>(sizes.headdim);
  buffers.D = carver.Take<double>(sizes.headdim);
  buffers.z = carver.Take<double>(sizes.headdim);
  return buffers;
}

// Where the operands of the chunk's i-th token are read to.
TokenBuffers TokenRows(const Buffers& buffers, int64_t i) {
  const Chunk& chunk = buffers.chunk;
  return {chunk.x + i * chunk.headdim, chunk.B + i * chunk.dstate, chunk.C + i * chunk.dstate,
          buffers.D, buffers.z};
}

void AdvanceByChunk(const ScanHead& head, const TokenSpan& span, const Buffers& buffers) {
  Chunk chunk = buffers.chunk;
  chunk.num_tokens = span.end_token - span.first_token;
  double A = 0.0;
  for (int64_t i = 0; i < chunk.num_tokens; ++i) {
    const Token token = head.LoadToken(span.first_token + i, TokenRows(buffers, i));
    chunk.dt[i] = token.dt;
    A = token.A;
  }
  ChunkCumsum(A, chunk);
  ComputeOut(chunk, buffers.state);
  PassState(chunk, buffers.state);
  for (int64_t i = 0; i < chunk.num_tokens; ++i) {
    // Read again for its D and z, of which there is room for one token.
    const Token token = head.LoadToken(span.first_token + i, TokenRows(buffers, i));
    for (int64_t channel = 0; channel < chunk.headdim; ++channel) {
      buffers.out[channel] = FinishOut(token, channel, chunk.y[i * chunk.headdim + channel]);
    }
    head.StoreOut(span.first_token + i, buffers.out);
  }
}

}  // namespace

size_t StagesWorkspaceBytes(const ScanForwardProblem& problem, const Schedule& schedule) {
  Carver carver;
  Carve(problem.sizes, schedule.chunk_size, carver);
  return carver.required_bytes();
}

Status RunStages(const ScanForwardProblem& problem, const Launch& launch) {
  TILESCAN_RETURN_IF_ERROR(CheckIndices(problem));
  Carver carver(launch.workspace);
  const int64_t chunk_size = launch.schedule.chunk_size;
  const Buffers buffers = Carve(problem.sizes, chunk_size, carver);
  const auto advance = [&](const ScanHead& head, const TokenSpan& span) {
    AdvanceByChunk(head, span, buffers);
  };
  WalkScan(problem, chunk_size, buffers.state, advance);
  return Status();
}

}  // namespace tilescan::reference
