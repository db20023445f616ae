// Opening peers and running them.
#include "bench/peer_library.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tilescan::bench {
namespace {

// The message of what a call throws.
template <typename Call>
std::string MessageOf(const Call& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct TinyProblem {
  std::vector<float> x = {2.0f, 4.0f};  // two tokens
  std::vector<float> dt = {30.0f, 30.0f};
  std::vector<float> A = {0.0f};
  std::vector<float> B = {1.0f, 1.0f};
  std::vector<float> C = {1.0f, 10.0f};
  std::vector<float> initial_states = {5.0f};
  tilescan_peer_sizes sizes = {1, 2, 1, 1, 1, 1, 1};
  tilescan_peer_operands operands = {x.data(), dt.data(), A.data(),
                                     B.data(), C.data(),  initial_states.data()};
};

TEST(PeerLibrary, RunsAScan) {
  const PeerLibrary library(LOOP_PEER);
  EXPECT_EQ(library.name(), "loops");
  EXPECT_EQ(library.build(), "plain loops");
  TinyProblem problem;
  const PeerInstance instance = library.CreateScan(problem.sizes, problem.operands);
  for (int run = 0; run < 2; ++run) {
    instance.Run();
    // No decay: the state is 5 + 30 * 2, then 30 * 4 more.
    EXPECT_FLOAT_EQ(instance.out()[0], 65.0f);
    EXPECT_FLOAT_EQ(instance.out()[1], 10.0f * 185.0f);
    EXPECT_FLOAT_EQ(instance.states(0)[0], 185.0f);
    EXPECT_EQ(instance.states(1), nullptr);
  }
}

TEST(PeerLibrary, StepsTheStatesOfLayers) {
  const PeerLibrary library(LOOP_PEER);
  TinyProblem problem;
  problem.sizes.seqlen = 1;
  const PeerInstance instance = library.CreateStateUpdate(problem.sizes, problem.operands, 3);
  for (const float state : {65.0f, 125.0f}) {
    instance.Run();
    for (int32_t layer_idx = 0; layer_idx < 3; ++layer_idx) {
      EXPECT_FLOAT_EQ(instance.states(layer_idx)[0], state);
    }
  }
}

TEST(PeerLibrary, PassesThePeersMessageOn) {
  const PeerLibrary library(LOOP_PEER_THAT_FAILS);
  TinyProblem problem;
  const PeerInstance instance = library.CreateScan(problem.sizes, problem.operands);
  EXPECT_EQ(MessageOf([&] { instance.Run(); }), "peer loops: cannot run: it does not like to");
}

TEST(PeerLibrary, RefusesWhatIsNoPeer) {
  EXPECT_TRUE(Has(MessageOf([] { PeerLibrary("./no_such_library.so"); }), "no_such_library.so"));
  // A library, but without a peer's functions.
  EXPECT_TRUE(Has(MessageOf([] { PeerLibrary("libm.so.6"); }), "tilescan_peer_version"));
  const std::string version = MessageOf([] { PeerLibrary library(LOOP_PEER_OF_ANOTHER_VERSION); });
  EXPECT_TRUE(Has(version, "built for version 99")) << version;
}

}  // namespace
}  // namespace tilescan::bench
