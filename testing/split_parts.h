// The operations that split_conv1d_scan is made of, on copies of its operands.
#ifndef TILESCAN_TESTING_SPLIT_PARTS_H_
#define TILESCAN_TESTING_SPLIT_PARTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "testing/operands.h"

namespace tilescan::testing {

ConvOperands ConvPart(const SplitOperands& operands);
// xBC: the convolution's out.
ScanOperands ScanPart(const SplitOperands& operands, const HostTensor& xBC);
// y: the scan's out.
NormOperands NormPart(const SplitOperands& operands, const HostTensor& y);

// (batch, seqlen, nheads, headdim) as (batch, seqlen, dim), bit for bit.
HostTensor WithoutHeads(const HostTensor& heads);

// Outputs that solve(part), a solved copy of its operands, gives for one part after another.
template <typename Solve>
void SolveParts(const Solve& solve, SplitOperands* operands) {
  ConvOperands conv = solve(ConvPart(*operands));
  ScanOperands scan = solve(ScanPart(*operands, conv.out));
  operands->conv_final_states = std::move(conv.final_states);
  operands->final_states = std::move(scan.final_states);
  operands->out = operands->rmsnorm_weight.present() ? solve(NormPart(*operands, scan.out)).out
                                                     : WithoutHeads(scan.out);
}

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_SPLIT_PARTS_H_
