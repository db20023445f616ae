// The steps of scan_amx.h, compiled once for each instruction set that has vectors.
#include "cpu/kernels/scan_amx.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/scan_amx.cpp"
#include "cpu/kernels/highway_targets.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "cpu/kernels/scan_amx_block-inl.h"
#include "cpu/kernels/scan_amx_group-inl.h"
#include "cpu/kernels/scan_strips-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

AmxShape ShapeOnMatrixUnit(int64_t chunk_size, int64_t headdim, int64_t dstate) {
  AmxShape shape;
  shape.chunk_size = chunk_size;
  shape.headdim = headdim;
  shape.dstate = dstate;
  shape.padded_headdim = RoundUp(headdim, kTileDepth);
  shape.padded_dstate = RoundUp(dstate, kTileDepth);
  return shape;
}

template <class Unit>
void ScanBlock(const AmxShape& shape, const AmxHead& head, bool is_prepared, const AmxHead* next,
               AmxThreadBuffers* thread, int* parity) {
  AmxBlockScan<Unit>(shape, thread).Run(head, is_prepared, next, parity);
}

template <class Unit>
void PassPartialState(const AmxShape& shape, const AmxHead& head, int64_t num_tokens,
                      AmxThreadBuffers* thread, int parity) {
  AmxHead part = head;
  part.num_tokens = num_tokens;
  AmxChunk chunk;
  chunk.shape = &shape;
  chunk.head = &part;
  chunk.buffers = &thread->chunks[1 - parity];
  PrepareDecays(chunk);
  for (int64_t step = 0; step < chunk.num_steps(); ++step) {
    PrepareX(chunk, step, 0, kTileRows, thread->rows);
  }
  const UnitTag d;
  const auto decay = hn::Set(d, chunk.buffers->decays.decay[num_tokens - 1]);
  for (int64_t at = 0; at < shape.state_elements(); at += kUnitLanes) {
    hn::Store(hn::Mul(decay, hn::Load(d, head.state + at)), d, thread->partial_state + at);
  }
  AmxBlockScan<Unit>(shape, thread).AddToState(chunk, thread->partial_state);
}

// Four rows of headdim at a time; what is padded is zero.
void LoadTiledState(const AmxShape& shape, const Rows& from, float* rows, float* state) {
  const UnitTag d;
  for (int64_t channel = 0; channel < shape.padded_headdim; channel += 4) {
    std::fill(rows, rows + 4 * shape.padded_dstate, 0.0f);
    for (int64_t k = 0; k < 4 && channel + k < shape.headdim; ++k) {
      LoadRow(from.At(channel + k), from.dtype, from.element_stride, shape.dstate,
              rows + k * shape.padded_dstate);
    }
    for (int64_t at = 0; at < 4 * shape.padded_dstate; at += kUnitLanes) {
      hn::Store(CanonicalNaN(hn::Load(d, rows + at)), d, rows + at);
    }
    for (int64_t n = 0; n < shape.padded_dstate; n += kTileRows) {
      const int64_t tile = n / kTileRows * shape.headdim_tiles() + channel / kTileColumns;
      TransposeFourRows(rows + n, shape.padded_dstate, kTileRows,
                        state + tile * kTileElements + channel % kTileColumns, kTileColumns);
    }
  }
}

void StoreTiledState(const AmxShape& shape, const float* state, float* rows, const Rows& to) {
  for (int64_t channel = 0; channel < shape.padded_headdim; channel += 4) {
    for (int64_t n = 0; n < shape.padded_dstate; n += kTileRows) {
      const int64_t tile = n / kTileRows * shape.headdim_tiles() + channel / kTileColumns;
      TransposeFourColumns(state + tile * kTileElements + channel % kTileColumns, kTileColumns,
                           kTileRows, rows + n, shape.padded_dstate);
    }
    for (int64_t k = 0; k < 4 && channel + k < shape.headdim; ++k) {
      StoreRow(rows + k * shape.padded_dstate, shape.dstate, to.dtype, to.At(channel + k),
               to.element_stride);
    }
  }
}

template <class Unit>
constexpr ScanAmxSteps MakeScanAmxSteps(bool is_emulated) {
  return {
      .instruction_set = kInstructionSet,
      .hwy_target = HWY_TARGET,
      .is_emulated = is_emulated,
      .shape = &ShapeOnMatrixUnit,
      .pack_group = &PackAmxGroup<Unit>,
      .scan_block = &ScanBlock<Unit>,
      .pass_state = &PassPartialState<Unit>,
      .load_state = &LoadTiledState,
      .store_state = &StoreTiledState,
  };
}

// Constant data, as in scan_chunk.cpp.
constexpr ScanAmxSteps kEmulatedSteps = MakeScanAmxSteps<EmulatedMatrixUnit>(true);
#if TILESCAN_HAS_MATRIX_UNIT
constexpr ScanAmxSteps kAmxSteps = MakeScanAmxSteps<AmxMatrixUnit>(false);
#endif

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // vectors

#if HWY_ONCE
namespace tilescan::cpu {
namespace {

constexpr int64_t kElementsOfTile = 256;

}  // namespace

AmxGroupBuffers AmxGroupBuffers::Take(Carver& carver, const AmxShape& shape) {
  AmxGroupBuffers group;
  group.C = carver.Take<uint32_t>(shape.chunk_size / 2, shape.padded_dstate);
  group.BT = carver.Take<uint32_t>(shape.chunk_size / 2, shape.padded_dstate);
  group.CB = carver.Take<float>(shape.chunk_size, shape.chunk_size);
  return group;
}

AmxChunkBuffers AmxChunkBuffers::Take(Carver& carver, const AmxShape& shape) {
  AmxChunkBuffers chunk;
  chunk.x = carver.Take<uint32_t>(shape.chunk_size / 2, shape.padded_headdim);
  chunk.x_weighted = carver.Take<uint32_t>(shape.chunk_size / 2, shape.padded_headdim);
  chunk.x_weighted_low = carver.Take<uint32_t>(16, shape.padded_headdim);
  chunk.M = carver.Take<uint32_t>(shape.chunk_size, shape.chunk_size);
  chunk.M_strong = carver.Take<uint32_t>(shape.chunk_size, shape.chunk_size);
  HeadBuffers& decays = chunk.decays;
  for (float** values : {&decays.dt, &decays.a_high, &decays.a_low, &decays.decay, &decays.inverse,
                         &decays.weight}) {
    *values = carver.Take<float>(shape.chunk_size);
  }
  return chunk;
}

AmxThreadBuffers AmxThreadBuffers::Take(Carver& carver, const AmxShape& shape) {
  AmxThreadBuffers thread;
  for (AmxChunkBuffers& chunk : thread.chunks) chunk = AmxChunkBuffers::Take(carver, shape);
  thread.state = carver.Take<uint32_t>(shape.padded_dstate / 2, shape.padded_headdim);
  thread.sums = carver.Take<float>(16 * kElementsOfTile);
  thread.rows = carver.Take<float>(std::max(4 * shape.padded_dstate, shape.padded_headdim));
  thread.group_tiles = carver.Take<uint32_t>(4 * shape.state_steps(), kElementsOfTile);
  thread.partial_state = carver.Take<float>(shape.padded_dstate, shape.padded_headdim);
  for (float*& row : thread.D_row) row = carver.Take<float>(shape.padded_headdim);
  return thread;
}

std::span<const ScanAmxSteps> AllScanAmxSteps() {
#define TILESCAN_ROW(target_namespace) target_namespace::kEmulatedSteps,
  static constexpr ScanAmxSteps kAll[] = {
    TILESCAN_FOR_EACH_VECTOR_SET(TILESCAN_ROW)
#if TILESCAN_COMPILES_AMX
        N_AVX3::kAmxSteps,
#endif
  };
#undef TILESCAN_ROW
  return kAll;
}

}  // namespace tilescan::cpu
#endif  // HWY_ONCE
