// The matrix unit (AMX with bf16 products) as one function an instruction, and the same functions
// in software for machines without one. A kernel over them is a template on the unit.
//
// A unit has eight tiles; here each is 16 rows of 64 bytes, as are the tiles in memory (1 KiB, rows
// one after another). Sums are fp32 (16, 16). Factors are bf16 in pairs along the depth: a left
// tile (16 rows, 16 pairs), a right tile (16 pairs, 16 columns).
#if defined(TILESCAN_CPU_KERNELS_MATRIX_UNIT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_MATRIX_UNIT_INL_H_
#undef TILESCAN_CPU_KERNELS_MATRIX_UNIT_INL_H_
#else
#define TILESCAN_CPU_KERNELS_MATRIX_UNIT_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "cpu/kernels/highway_targets.h"
#include "cpu/kernels/simd_rows-inl.h"
#include "hwy/highway.h"
#include "numerics/bfloat16.h"

#undef TILESCAN_HAS_MATRIX_UNIT
#if TILESCAN_COMPILES_AMX && HWY_TARGET == HWY_AVX3
#define TILESCAN_HAS_MATRIX_UNIT 1
#else
#define TILESCAN_HAS_MATRIX_UNIT 0
#endif

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kTileRows = 16;
inline constexpr int64_t kTileColumns = 16;        // fp32, or pairs of bf16
inline constexpr int64_t kTileElements = 16 * 16;  // likewise
inline constexpr int64_t kTileDepth = 32;          // bf16
inline constexpr int64_t kTileBytes = 64 * kTileRows;

using UnitTag = hn::ScalableTag<float>;
using UnitVector = hn::Vec<UnitTag>;
inline constexpr int64_t kUnitLanes = hn::MaxLanes(UnitTag());
static_assert(kTileColumns % kUnitLanes == 0);
inline constexpr int64_t kRowVectors = kTileDepth / kUnitLanes;

// Software. The arithmetic is that of Intel's manual for TDPBF16PS ("Intel 64 and IA-32
// Architectures Software Developer's Manual", volume 2): the products of even and of odd depth are
// summed apart, each with a fused multiply-add, the two sums added, and their sum added to the
// tile; denormal operands count as zero, denormal results become zero, NaN and infinities are
// IEEE's.
class EmulatedMatrixUnit {
 public:
  void Begin() {}
  void End() {}

  template <int kTo>
  void Zero() {
    std::memset(tiles_[kTo], 0, kTileBytes);
  }
  template <int kTo>
  void Load(const void* from) {
    std::memcpy(tiles_[kTo], from, kTileBytes);
  }
  template <int kFrom>
  void Store(void* to) const {
    std::memcpy(to, tiles_[kFrom], kTileBytes);
  }
  // sum += left * right.
  template <int kSum, int kLeft, int kRight>
  HWY_NOINLINE void Dot() {
    const UnitTag d;
    Split(tiles_[kLeft], left_);
    Split(tiles_[kRight], right_);
    for (int64_t row = 0; row < kTileRows; ++row) {
      for (int64_t column = 0; column < kTileColumns; column += kUnitLanes) {
        UnitVector even = hn::Zero(d);
        UnitVector odd = hn::Zero(d);
        for (int64_t pair = 0; pair < kTileDepth / 2; ++pair) {
          const float* left = left_ + row * kTileColumns + pair;
          const float* right = right_ + pair * kTileColumns + column;
          even = hn::MulAdd(hn::Set(d, left[0]), hn::Load(d, right), even);
          odd =
              hn::MulAdd(hn::Set(d, left[kTileElements]), hn::Load(d, right + kTileElements), odd);
          even = Flushed(even);
          odd = Flushed(odd);
        }
        uint32_t* sum = tiles_[kSum] + row * kTileColumns + column;
        const hn::Rebind<uint32_t, UnitTag> du32;
        const UnitVector before = Flushed(hn::BitCast(d, hn::Load(du32, sum)));
        const UnitVector after = Flushed(hn::Add(before, Flushed(hn::Add(even, odd))));
        hn::Store(hn::BitCast(du32, after), du32, sum);
      }
    }
  }

  // 32 floats as bf16, to nearest even; 64 bytes.
  static void StoreRounded(const UnitVector (&values)[kRowVectors], void* to, bool) {
    const UnitTag d;
    auto* elements = static_cast<numerics::BFloat16*>(to);
    for (int64_t idx = 0; idx < kRowVectors; ++idx) {
      StoreFloats(d, Flushed(values[idx]), elements + idx * kUnitLanes);
    }
  }

 private:
  // The even and the odd depths of a tile as floats, (2, 16, 16).
  static void Split(const uint32_t* tile, float* parts) {
    const UnitTag d;
    const hn::Rebind<uint32_t, UnitTag> du32;
    for (int64_t at = 0; at < kTileElements; at += kUnitLanes) {
      const auto pairs = hn::Load(du32, tile + at);
      const auto odd = hn::And(pairs, hn::Set(du32, 0xffff0000u));
      hn::Store(Flushed(hn::BitCast(d, hn::ShiftLeft<16>(pairs))), d, parts + at);
      hn::Store(Flushed(hn::BitCast(d, odd)), d, parts + kTileElements + at);
    }
  }

  static HWY_INLINE UnitVector Flushed(UnitVector value) {
    const UnitTag d;
    const auto is_denormal = hn::Lt(hn::Abs(value), hn::Set(d, 0x1p-126f));
    return hn::IfThenElse(is_denormal, hn::CopySign(hn::Zero(d), value), value);
  }

  alignas(64) uint32_t tiles_[8][kTileElements];
  alignas(64) float left_[2 * kTileElements];
  alignas(64) float right_[2 * kTileElements];
};

#if TILESCAN_HAS_MATRIX_UNIT

// The instructions themselves. Memory operands tell the compiler which bytes are read and written,
// which the intrinsics of GCC 12 do not.
class AmxMatrixUnit {
 public:
  // Configures the thread's tiles, and keeps a configuration that stood there; End() restores it,
  // or releases the tiles. Their contents are lost, as in any call that uses them.
  HWY_INLINE void Begin() {
    asm volatile("sttilecfg %0" : "=m"(before_));
    Configuration own = {};
    own.palette = 1;
    for (int tile = 0; tile < 8; ++tile) {
      own.row_bytes[tile] = 64;
      own.num_rows[tile] = kTileRows;
    }
    asm volatile("ldtilecfg %0" ::"m"(own));
  }
  HWY_INLINE void End() {
    if (before_.palette == 0) {
      asm volatile("tilerelease" ::: "memory");
    } else {
      asm volatile("ldtilecfg %0" ::"m"(before_));
    }
  }

  template <int kTo>
  HWY_INLINE void Zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTo));
  }
  template <int kTo>
  HWY_INLINE void Load(const void* from) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(kRowBytes), "i"(kTo),
                 "m"(*static_cast<const Bytes*>(from)));
  }
  template <int kFrom>
  HWY_INLINE void Store(void* to) const {
    asm volatile("tilestored %%tmm%c3, (%1,%2,1)"
                 : "=m"(*static_cast<Bytes*>(to))
                 : "r"(to), "r"(kRowBytes), "i"(kFrom));
  }
  template <int kSum, int kLeft, int kRight>
  HWY_INLINE void Dot() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kLeft), "i"(kRight));
  }

  // Processors with AMX have AVX512_BF16. Denormal values become zero. past_caches: `to` is aligned
  // to 64 bytes, and written without a place in the caches.
  static HWY_INLINE void StoreRounded(const UnitVector (&values)[kRowVectors], void* to,
                                      bool past_caches) {
    __m512i rounded;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(rounded) : "v"(values[0].raw), "v"(values[1].raw));
    if (past_caches) {
      _mm512_stream_si512(static_cast<__m512i*>(to), rounded);
    } else {
      _mm512_storeu_si512(to, rounded);
    }
  }

 private:
  using Bytes = char[kTileBytes];
  static constexpr int64_t kRowBytes = 64;

  struct alignas(64) Configuration {
    uint8_t palette;
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t num_rows[16];
  };
  static_assert(sizeof(Configuration) == 64);

  Configuration before_;
};

#endif  // TILESCAN_HAS_MATRIX_UNIT

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_MATRIX_UNIT_INL_H_
