// Two implementations timed in turns, so that what disturbs the machine disturbs both.
#ifndef TILESCAN_BENCH_ROUNDS_H_
#define TILESCAN_BENCH_ROUNDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "testing/result_file.h"
#include "testing/timer.h"

namespace tilescan::bench {

struct Rounds {
  std::vector<testing::Sample> own;
  std::vector<testing::Sample> peer;  // empty without one
};

// A round is a sample of the peer, if peer_work is not empty, and one of our own work; each is
// called once before its sample, to be warm.
Rounds RunRounds(const testing::Work& own_work, const testing::Work& peer_work, int64_t num_rounds,
                 const testing::SamplePolicy& policy);

// The peer's time over our own, round by round. Empty without a peer.
std::optional<testing::RoundRatio> RatioOf(const Rounds& rounds, const std::string& peer_name);

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_ROUNDS_H_
