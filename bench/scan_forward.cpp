// Prefill: a scan over a prompt, batch 1.
#include <optional>

#include "bench/peer_operands.h"
#include "bench/planned_call.h"
#include "bench/session.h"

namespace tilescan::bench {
namespace {

using testing::HostTensor;
using testing::ModelPreset;
using testing::Result;
using testing::ScanOperands;

PeerInstance MakePeer(const ModelPreset& preset, int64_t seqlen, const ScanOperands& operands,
                      const Session& session) {
  const PeerOperands peer_operands(operands, operands.initial_states);
  return session.peer->CreateScan(PeerSizes(preset, 1, seqlen, session.options.policy.num_threads),
                                  peer_operands.Describe());
}

// Runs the peer and holds it against the recurrence on a part, and our result against it as a
// whole.
Errors CheckPeer(const std::string& what, const ScanOperands& operands, const Errors& limits,
                 const PeerInstance& peer) {
  peer.Run();
  const HostTensor out = CopyOf(peer.out(), operands.out.shape());
  const HostTensor states = CopyOf(peer.states(0), operands.final_states.shape());
  const Errors errors = ErrorsOnPart(what, operands, out, states);
  const Errors peer_limits = Limits({DType::kFloat32, DType::kFloat32});
  RequireWithin(what, errors, peer_limits);
  RequireWithin("difference to " + what,
                {RelativeError(what + ": out", operands.out, out),
                 RelativeError(what + ": final_states", operands.final_states, states)},
                {limits.out + peer_limits.out, limits.state + peer_limits.state});
  return errors;
}

// What both implementations' results have alike.
Result NewScanResult(const ModelPreset& preset, int64_t seqlen, const std::string& implementation,
                     const Session& session, const std::vector<testing::Sample>& samples) {
  Result result = session.NewResult(preset, 1, implementation);
  result.case_name = testing::ScanCaseName(preset, 1, seqlen);
  result.operation = "scan_forward";
  result.seqlen = seqlen;
  result.timing = testing::Summarise(samples);
  const double seconds = result.timing.median_us * 1e-6;
  const double tokens_by_heads = static_cast<double>(seqlen * preset.nheads);
  result.figures["ns_per_token_head"] = seconds * 1e9 / tokens_by_heads;
  result.figures["gflops"] = testing::RecurrenceFlops(preset, seqlen) / seconds * 1e-9;
  return result;
}

}  // namespace

void MeasureScanForward(const ModelPreset& preset, int64_t seqlen, Session* session) {
  const BenchOptions& options = session->options;
  const ScanOperands operands = testing::ScanWorkload(preset, 1, seqlen, options.dtypes);
  PlannedCall call(testing::MakeArgs(operands), options.target.Options());
  call.Run();
  const std::string name = testing::ScanCaseName(preset, 1, seqlen);
  const Errors limits = Limits(options.dtypes);
  const Errors errors =
      ErrorsOnPart(name + ": tilescan", operands, operands.out, operands.final_states);
  RequireWithin(name + ": tilescan", errors, limits);

  std::optional<PeerInstance> peer;
  Errors peer_errors;
  if (session->peer) {
    peer.emplace(MakePeer(preset, seqlen, operands, *session));
    peer_errors = CheckPeer(name + ": " + session->peer->name(), operands, limits, *peer);
  }

  const double ceiling = session->ceilings.MultiplyAdd(InstructionSetOf(call.plan())).median;
  const testing::Work peer_work = peer ? testing::Work([&] { peer->Run(); }) : testing::Work();
  const Rounds rounds =
      RunRounds([&] { call.Run(); }, peer_work, options.num_rounds, options.policy);

  Result own = NewScanResult(preset, seqlen, "tilescan", *session, rounds.own);
  own.error_out = errors.out;
  own.error_state = errors.state;
  own.kernel = KernelOf(call.plan());
  own.peak_bytes = static_cast<int64_t>(call.plan().workspace_bytes());
  if (ceiling > 0.0) own.figures["fraction_of_ceiling"] = own.figures["gflops"] / ceiling;
  if (!peer) return session->Add(own, std::nullopt);

  own.ratio = RatioOf(rounds, session->peer->name());
  Result other = NewScanResult(preset, seqlen, session->peer->name(), *session, rounds.peer);
  other.dtype = other.state_dtype = DTypeName(DType::kFloat32);
  other.error_out = peer_errors.out;
  other.error_state = peer_errors.state;
  if (ceiling > 0.0) other.figures["fraction_of_ceiling"] = other.figures["gflops"] / ceiling;
  session->Add(own, other);
}

}  // namespace tilescan::bench
