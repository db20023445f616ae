// Decoding: one step of every layer, each with its own state.
#include <cstring>
#include <optional>
#include <stdexcept>

#include "bench/peer_operands.h"
#include "bench/planned_call.h"
#include "bench/session.h"
#include "testing/layer_states.h"
#include "testing/truth.h"

namespace tilescan::bench {
namespace {

using testing::HostTensor;
using testing::LayerStates;
using testing::ModelPreset;
using testing::Result;
using testing::StateUpdateOperands;

struct UpdateCase {
  ModelPreset preset;
  int64_t batch;
  bool is_cold;
  int64_t num_layers;

  std::string Name() const { return testing::StateUpdateCaseName(preset, batch, is_cold); }
};

void RunPass(const LayerStates& states, PlannedCall<tilescan_state_update_args>* call) {
  for (int64_t layer_idx = 0; layer_idx < states.num_layers(); ++layer_idx) {
    call->args().state.data = states.layer(layer_idx);
    call->Run();
  }
}

// After the first pass: all layers started from one state, so all must be that of the truth.
Errors CheckOwn(const std::string& what, const StateUpdateOperands& operands,
                const StateUpdateOperands& truth, const LayerStates& states) {
  HostTensor state(operands.state.dtype(), operands.state.shape());
  const auto state_bytes = static_cast<size_t>(state.num_elements() * ElementBytes(state.dtype()));
  std::memcpy(state.view().data, states.layer(0), state_bytes);
  for (int64_t layer_idx = 1; layer_idx < states.num_layers(); ++layer_idx) {
    if (std::memcmp(states.layer(layer_idx), states.layer(0), state_bytes) != 0) {
      throw std::runtime_error(what + ": the state of layer " + std::to_string(layer_idx) +
                               " differs from that of layer 0");
    }
  }
  return {RelativeError(what + ": out", operands.out, truth.out),
          RelativeError(what + ": state", state, truth.state)};
}

Errors CheckPeer(const std::string& what, const StateUpdateOperands& operands,
                 const StateUpdateOperands& truth, const UpdateCase& update_case,
                 const PeerInstance& peer) {
  peer.Run();
  const auto last_layer = static_cast<int32_t>(update_case.num_layers - 1);
  const Errors errors = {
      RelativeError(what + ": out", CopyOf(peer.out(), operands.out.shape()), truth.out),
      RelativeError(what + ": state", CopyOf(peer.states(last_layer), operands.state.shape()),
                    truth.state)};
  RequireWithin(what, errors, Limits({DType::kFloat32, DType::kFloat32}));
  return errors;
}

// Times are those of one layer's step. state_bytes: what this implementation keeps a layer in.
Result NewUpdateResult(const UpdateCase& update_case, double state_bytes,
                       const std::string& implementation, const Session& session,
                       std::vector<testing::Sample> samples) {
  Result result = session.NewResult(update_case.preset, update_case.batch, implementation);
  result.case_name = update_case.Name();
  result.operation = "state_update";
  result.seqlen = 1;
  for (testing::Sample& sample : samples) {
    sample.seconds /= static_cast<double>(update_case.num_layers);
  }
  result.timing = testing::Summarise(samples);
  const double seconds = result.timing.median_us * 1e-6;
  const auto num_heads = static_cast<double>(update_case.batch * update_case.preset.nheads);
  result.figures["num_layers"] = static_cast<double>(update_case.num_layers);
  result.figures["ns_per_token_head"] = seconds * 1e9 / num_heads;
  result.figures["gbytes_per_s"] = 2.0 * state_bytes / seconds * 1e-9;
  return result;
}

}  // namespace

void MeasureStateUpdate(const ModelPreset& preset, int64_t batch, bool is_cold, Session* session) {
  const BenchOptions& options = session->options;
  const testing::SamplePolicy& policy = options.policy;
  const double state_bytes = testing::StateBytes(preset, batch, options.dtypes.states);
  const UpdateCase update_case = {preset, batch, is_cold,
                                  is_cold ? testing::NumLayersBeyondCaches(state_bytes) : 1};
  const StateUpdateOperands operands = testing::StateUpdateWorkload(preset, batch, options.dtypes);
  const StateUpdateOperands truth = testing::Truth(operands);
  const LayerStates states(operands.state, update_case.num_layers);
  PlannedCall call(testing::MakeArgs(operands), options.target.Options());
  RunPass(states, &call);
  const std::string name = update_case.Name();
  const Errors errors = CheckOwn(name + ": tilescan", operands, truth, states);
  RequireWithin(name + ": tilescan", errors, Limits(options.dtypes));

  std::optional<PeerInstance> peer;
  Errors peer_errors;
  if (session->peer) {
    const PeerOperands peer_operands(operands, operands.state);
    peer.emplace(session->peer->CreateStateUpdate(PeerSizes(preset, batch, 1, policy.num_threads),
                                                  peer_operands.Describe(),
                                                  static_cast<int32_t>(update_case.num_layers)));
    peer_errors =
        CheckPeer(name + ": " + session->peer->name(), operands, truth, update_case, *peer);
  }

  // The ceiling is a pass in place over as many bytes, in whatever cache they stay.
  constexpr int64_t kCeilingSamples = 5;
  const auto pass_bytes = static_cast<int64_t>(state_bytes) * update_case.num_layers;
  const double ceiling = testing::MeasureInPlace(pass_bytes, kCeilingSamples, policy).median;
  const testing::Work peer_work = peer ? testing::Work([&] { peer->Run(); }) : testing::Work();
  const Rounds rounds =
      RunRounds([&] { RunPass(states, &call); }, peer_work, options.num_rounds, policy);

  Result own = NewUpdateResult(update_case, state_bytes, "tilescan", *session, rounds.own);
  own.error_out = errors.out;
  own.error_state = errors.state;
  own.kernel = KernelOf(call.plan());
  own.peak_bytes = static_cast<int64_t>(call.plan().workspace_bytes());
  own.figures["in_place_gbytes_per_s"] = ceiling;
  own.figures["fraction_of_ceiling"] = own.figures["gbytes_per_s"] / ceiling;
  if (!peer) return session->Add(own, std::nullopt);

  own.ratio = RatioOf(rounds, session->peer->name());
  const double peer_bytes = testing::StateBytes(preset, batch, DType::kFloat32);
  Result other =
      NewUpdateResult(update_case, peer_bytes, session->peer->name(), *session, rounds.peer);
  other.dtype = other.state_dtype = DTypeName(DType::kFloat32);
  other.error_out = peer_errors.out;
  other.error_state = peer_errors.state;
  session->Add(own, other);
}

}  // namespace tilescan::bench
