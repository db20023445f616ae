// Runs that must succeed, and outputs that must be the same bits.
#ifndef TILESCAN_TESTS_EXPECT_RUN_H_
#define TILESCAN_TESTS_EXPECT_RUN_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "testing/case.h"
#include "testing/operands.h"
#include "testing/run.h"
#include "testing/target.h"

namespace tilescan::testing {

// Solves the operands in place, on a target.
template <typename Operands>
void ExpectRun(const Operands& operands, const Target& target, int64_t chunk_size = 0) {
  tilescan_options options = target.Options();
  options.chunk_size = chunk_size;
  const RunResult result = RunCall(operands, options);
  EXPECT_EQ(result.status, TILESCAN_OK) << result.message;
  EXPECT_TRUE(result.surroundings_intact) << "wrote outside its outputs or workspace";
}

// The operands of a case, solved.
template <typename Case>
auto Solve(const Case& any_case, const Target& target, int64_t chunk_size = 0) {
  auto operands = BuildOperands(any_case);
  ExpectRun(operands, target, chunk_size);
  return operands;
}

// All outputs that both have.
template <typename Operands>
void ExpectSameBits(const Operands& got, const Operands& expected, const std::string& what) {
  Operands::ForEach(got, [&](const char* name, const HostTensor& tensor, bool is_output) {
    if (!is_output || !tensor.present()) return;
    Operands::ForEach(expected, [&](const char* other_name, const HostTensor& other, bool) {
      if (std::string(name) != other_name) return;
      ASSERT_EQ(tensor.shape(), other.shape()) << name;
      EXPECT_TRUE(tensor.HasSameBits(other)) << name << " differs: " << what;
    });
  });
}

// A copy of solved operands with its outputs as they were before.
template <typename Operands>
Operands Copy(const Operands& operands) {
  return WithLayout(operands, Layout::kCompact);
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTS_EXPECT_RUN_H_
