// CB = tril(C B^T) of each chunk: what the streaming scan multiplies x with, the same for all heads
// of a group.
#ifndef TILESCAN_HOPPER_MASKED_CB_H_
#define TILESCAN_HOPPER_MASKED_CB_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/scan_forward.h"
#include "core/status.h"

namespace tilescan::hopper {

// The tiles of CB: batch * ngroups * nchunks.
int64_t NumCBTiles(const ScanSizes& sizes);

// Loads the kernel for the dstate, one that ReasonAgainstScan() has nothing against.
Status PrepareMaskedCB(const ScanSizes& sizes);

// Writes CB (batch, ngroups, nchunks, 64, 64) in bf16, 0 above the diagonal and for tokens behind
// seqlen. Sets words[0 ... num_words - 1] to 0 on the way.
Status RunMaskedCB(const ScanForwardProblem& problem, uint16_t* CB, uint32_t* words,
                   int32_t num_words, cudaStream_t stream);

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_MASKED_CB_H_
