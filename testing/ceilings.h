// What the machine can do at best, measured: the figures that speeds are fractions of.
#ifndef TILESCAN_TESTING_CEILINGS_H_
#define TILESCAN_TESTING_CEILINGS_H_

#include <cstdint>
#include <map>
#include <string>

#include "testing/timer.h"

namespace tilescan::testing {

// A rate over samples.
struct Rate {
  double median = 0.0;
  double min = 0.0;
  double max = 0.0;
  int64_t repeats = 0;
  int64_t num_disturbed = 0;
};

// The measuring functions keep policy.num_threads threads busy and take num_samples samples.

// fp32 multiply-adds (2 flops each) from registers, none waiting for another, in GFLOP/s, for an
// instruction set as a plan describes it ("avx2"). Instruction sets without a fused multiply-add
// multiply and add. repeats 0 if there is none of that name on this machine.
Rate MeasureMultiplyAdd(const std::string& instruction_set, int64_t num_samples,
                        const SamplePolicy& policy);

// A pass that reads num_bytes and writes num_bytes elsewhere, past the caches (streaming stores),
// in GB/s read plus written. With the best instruction set of the machine.
Rate MeasureCopy(int64_t num_bytes, int64_t num_samples, const SamplePolicy& policy);

// A pass that reads and writes num_bytes in place, as decoding does with its states, in GB/s read
// plus written. Over fewer bytes than a cache holds it is that cache's rate.
Rate MeasureInPlace(int64_t num_bytes, int64_t num_samples, const SamplePolicy& policy);

// A copy of num_bytes from one place of the current GPU's memory to another, in GB/s read plus
// written, on the GPU's clock. Throws a DeviceError.
Rate MeasureDeviceCopy(int64_t num_bytes, int64_t num_samples);

// Bytes whose passes come from memory, whatever the caches hold.
int64_t BytesBeyondCaches();

// The ceilings of one run: each is measured when first asked for, and kept.
class Ceilings {
 public:
  explicit Ceilings(const SamplePolicy& policy) : policy_(policy) {}

  Rate MultiplyAdd(const std::string& instruction_set);
  // Both through memory.
  Rate Copy();
  Rate InPlace();
  // A copy of a GPU's memory, by the driver. Throws a DeviceError.
  Rate DeviceCopy();

  // Those measured so far, under their names in result files: "multiply_add_gflops_avx2",
  // "copy_gbytes_per_s", "in_place_gbytes_per_s", "device_copy_gbytes_per_s".
  const std::map<std::string, Rate>& measured() const { return measured_; }

 private:
  template <typename MeasureCeiling>
  Rate Once(const std::string& name, const MeasureCeiling& measure);

  SamplePolicy policy_;
  std::map<std::string, Rate> measured_;
};

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_CEILINGS_H_
