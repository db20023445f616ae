// What the processor is and has.
#include <sched.h>

#include <fstream>
#include <string>
#include <thread>

#include "cpu/kernels/scan_chunk.h"
#include "hwy/targets.h"
#include "plan/variant.h"

namespace tilescan::cpu {
namespace {

int32_t ProbeNumThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int32_t>(count);
}

std::string ProbeName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (colon != std::string::npos && line.rfind("model name", 0) == 0) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

// A data cache as the first core has it; 0 if the system does not say. (sysconf() gives the third
// level of all cores together on some machines.)
int64_t ProbeCache(int level) {
  for (int idx = 0; idx < 8; ++idx) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(idx);
    int found_level = 0;
    std::string type;
    int64_t size = 0;
    char unit = ' ';
    std::ifstream(folder + "/level") >> found_level;
    std::ifstream(folder + "/type") >> type;
    std::ifstream(folder + "/size") >> size >> unit;
    if (found_level != level || type == "Instruction") continue;
    return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
  }
  return 0;
}

CpuFacts Probe() {
  CpuFacts facts;
  facts.name = ProbeName();
  facts.num_threads = ProbeNumThreads();
  facts.l1d_cache_bytes = ProbeCache(1);
  facts.l2_cache_bytes = ProbeCache(2);
  facts.l3_cache_bytes = ProbeCache(3);
  for (const ScanChunkSteps& steps : AllScanChunkSteps()) {
    const bool available = steps.is_baseline || (hwy::SupportedTargets() & steps.hwy_target) != 0;
    facts.instruction_sets.push_back({steps.instruction_set, available});
  }
  return facts;
}

}  // namespace

const CpuFacts& Facts() {
  static const CpuFacts facts = Probe();
  return facts;
}

}  // namespace tilescan::cpu
