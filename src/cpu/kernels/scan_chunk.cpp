// The steps of scan_chunk.h, compiled once for each instruction set.
#include "cpu/kernels/scan_chunk.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/scan_chunk.cpp"
#include "cpu/kernels/highway_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "cpu/kernels/scan_decay-inl.h"
#include "cpu/kernels/scan_group-inl.h"
#include "cpu/kernels/scan_out-inl.h"
#include "cpu/kernels/scan_state-inl.h"
#include "cpu/kernels/scan_strips-inl.h"
#include "cpu/kernels/scan_x-inl.h"
#include "cpu/kernels/simd_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

// Constant data: a function here would be compiled for an instruction set the machine may not have.
constexpr ScanChunkSteps kScanChunkSteps = {
    .instruction_set = kInstructionSet,
    .hwy_target = HWY_TARGET,
    .is_baseline = kIsBaseline,
    .shape = &Shape,
    .pack_group = &PackGroup,
    .chunk_cumsum = &ChunkCumsum,
    .load_x = &LoadX,
    .store_out = &StoreOut,
    .weigh_x = &WeighX,
    .compute_out = &ComputeOut,
    .pass_state = &PassState,
    .add_decayed = &AddDecayed,
    .load_state = &LoadState,
    .store_state = &StoreState,
};

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tilescan::cpu {

GroupBuffers GroupBuffers::Take(Carver& carver, const ChunkShape& shape) {
  GroupBuffers group;
  group.C = carver.Take<float>(shape.chunk_size * shape.padded_dstate);
  group.BT = carver.Take<float>(shape.dstate * shape.padded_chunk);
  group.CB = carver.Take<float>(shape.chunk_size * shape.padded_chunk);
  return group;
}

HeadBuffers HeadBuffers::Take(Carver& carver, const ChunkShape& shape) {
  HeadBuffers head;
  head.x = carver.Take<float>(shape.chunk_size * shape.padded_headdim);
  head.x_weighted = carver.Take<float>(shape.chunk_size * shape.padded_headdim);
  head.M = carver.Take<float>(shape.chunk_size * shape.padded_chunk);
  head.rows = carver.Take<float>(std::max(2 * shape.padded_headdim, 4 * shape.padded_dstate));
  head.dt = carver.Take<float>(shape.padded_chunk);
  head.a_high = carver.Take<float>(shape.padded_chunk);
  head.a_low = carver.Take<float>(shape.padded_chunk);
  head.decay = carver.Take<float>(shape.padded_chunk);
  head.inverse = carver.Take<float>(shape.padded_chunk);
  head.weight = carver.Take<float>(shape.padded_chunk);
  return head;
}

std::span<const ScanChunkSteps> AllScanChunkSteps() {
#define TILESCAN_ROW(target_namespace) target_namespace::kScanChunkSteps,
  static constexpr ScanChunkSteps kAll[] = {TILESCAN_FOR_EACH_INSTRUCTION_SET(TILESCAN_ROW)};
#undef TILESCAN_ROW
  return kAll;
}

}  // namespace tilescan::cpu
#endif  // HWY_ONCE
