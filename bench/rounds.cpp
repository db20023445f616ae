#include "bench/rounds.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/peer.h"

namespace tilescan::bench {

using testing::Sample;
using testing::SamplePolicy;
using testing::Work;

Rounds RunRounds(const Work& own_work, const Work& peer_work, int64_t num_rounds,
                 const SamplePolicy& policy) {
  const auto pause_after_peer = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(TILESCAN_PEER_PAUSE_MS));
  };
  int64_t num_peer_calls = 0;
  if (peer_work) {
    num_peer_calls = CallsPerSample(peer_work, policy);
    pause_after_peer();
  }
  const int64_t num_own_calls = CallsPerSample(own_work, policy);
  Rounds rounds;
  for (int64_t round = 0; round < num_rounds; ++round) {
    if (peer_work) {
      peer_work();
      rounds.peer.push_back(TakeSample(peer_work, num_peer_calls, policy));
      pause_after_peer();
    }
    own_work();
    rounds.own.push_back(TakeSample(own_work, num_own_calls, policy));
  }
  return rounds;
}

std::optional<testing::RoundRatio> RatioOf(const Rounds& rounds, const std::string& peer_name) {
  if (rounds.peer.empty()) return std::nullopt;
  std::vector<double> ratios;
  for (size_t round = 0; round < rounds.own.size(); ++round) {
    ratios.push_back(rounds.peer[round].seconds / rounds.own[round].seconds);
  }
  const auto [min, max] = std::minmax_element(ratios.begin(), ratios.end());
  return testing::RoundRatio{peer_name, testing::Median(ratios), *min, *max};
}

}  // namespace tilescan::bench
