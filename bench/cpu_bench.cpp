// cpu_bench: times the CPU kernels on models' shapes, beside a peer if one is given.
#include <cstdio>
#include <exception>
#include <string>

#include "bench/options.h"
#include "bench/session.h"
#include "testing/presets.h"

namespace tilescan::bench {
namespace {

void PrintMachine(const Session& session) {
  const testing::Environment& environment = session.file.environment;
  std::printf("%s (%s), %s, %d threads; tilescan %s, %s, %s\n", environment.cpu.c_str(),
              environment.cpu_model.c_str(), environment.instruction_set.c_str(),
              environment.num_threads, environment.commit.c_str(), environment.compiler.c_str(),
              environment.build_type.c_str());
  for (const auto& [name, build] : session.file.implementations) {
    std::printf("peer %s: %s\n", name.c_str(), build.c_str());
  }
}

void PrintCeilings(Session* session) {
  session->ceilings.MultiplyAdd(session->file.environment.instruction_set);
  session->ceilings.Copy();
  session->ceilings.InPlace();
  for (const auto& [name, rate] : session->ceilings.measured()) {
    std::printf("ceiling %s: %.1f (%.1f to %.1f, %lld samples, %lld disturbed)\n", name.c_str(),
                rate.median, rate.min, rate.max, static_cast<long long>(rate.repeats),
                static_cast<long long>(rate.num_disturbed));
  }
  std::fflush(stdout);
}

void MeasureOperation(const std::string& operation, const testing::ModelPreset& preset,
                      Session* session) {
  const BenchOptions& options = session->options;
  if (operation == "scan_forward") {
    for (const int64_t seqlen : options.seqlens) MeasureScanForward(preset, seqlen, session);
    return;
  }
  for (const int64_t batch : options.batches) {
    for (const std::string& caches : options.caches) {
      MeasureStateUpdate(preset, batch, caches == "cold", session);
    }
  }
}

int Main(int argc, char** argv) {
  Session session(ParseOptions(argc, argv));
  const BenchOptions& options = session.options;
  PrintMachine(session);
  PrintCeilings(&session);
  for (const std::string& operation : options.operations) {
    for (const std::string& name : options.presets) {
      MeasureOperation(operation, *testing::FindModelPreset(name), &session);
    }
  }
  session.PrintSummary();
  session.file.ceilings = session.ceilings.measured();
  if (options.json_path.empty()) return 0;
  const std::string complaint = testing::WriteResultFile(session.file, options.json_path);
  if (complaint.empty()) return 0;
  std::fprintf(stderr, "cpu_bench: %s\n", complaint.c_str());
  return 1;
}

}  // namespace
}  // namespace tilescan::bench

int main(int argc, char** argv) {
  try {
    return tilescan::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu_bench: %s\n", error.what());
    return 1;
  }
}
