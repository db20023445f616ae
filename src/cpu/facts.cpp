// What the processor is and has.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "cpu/kernels/scan_amx.h"
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

// Whether the processor multiplies tiles of bf16, rounds to bf16, and the system saves tiles.
bool HasAmx() {
#if defined(__x86_64__)
  constexpr unsigned kAmxBf16 = 1u << 22;    // leaf 7, edx
  constexpr unsigned kAmxTile = 1u << 24;    // leaf 7, edx
  constexpr unsigned kAvx512Bf16 = 1u << 5;  // leaf 7 subleaf 1, eax
  constexpr unsigned kTileState = 3u << 17;  // extended control register 0
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kOsSaves = 1u << 27;  // leaf 1, ecx: the register below can be read
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kOsSaves) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((edx & kAmxBf16) == 0 || (edx & kAmxTile) == 0) return false;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  if ((eax & kAvx512Bf16) == 0) return false;
  asm volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (eax & kTileState) == kTileState;
#else
  return false;
#endif
}

// Asks the system for the permission to use tiles, which holds for the process and its threads from
// then on.
std::string ReasonAgainstAmx() {
  bool is_built = false;
  for (const ScanAmxSteps& steps : AllScanAmxSteps()) is_built = is_built || !steps.is_emulated;
  if (!is_built) return "this build has no AMX";
  if (!HasAmx()) return "this machine has no AMX with bf16";
#if defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) {
    return "the system does not let this process use AMX";
  }
#endif
  return "";
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
  facts.reason_against_amx = ReasonAgainstAmx();
  return facts;
}

}  // namespace

const CpuFacts& Facts() {
  static const CpuFacts facts = Probe();
  return facts;
}

}  // namespace tilescan::cpu
