// Products of two by two tiles: sums in the unit's tiles 0 to 3, factors in 4 to 7.
#if defined(TILESCAN_CPU_KERNELS_SCAN_AMX_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TILESCAN_CPU_KERNELS_SCAN_AMX_PRODUCTS_INL_H_
#undef TILESCAN_CPU_KERNELS_SCAN_AMX_PRODUCTS_INL_H_
#else
#define TILESCAN_CPU_KERNELS_SCAN_AMX_PRODUCTS_INL_H_
#endif

#include <cstdint>

#include "cpu/kernels/matrix_unit-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tilescan::cpu::HWY_NAMESPACE {

template <class Unit>
HWY_INLINE void ZeroSums(Unit& unit) {
  unit.template Zero<0>();
  unit.template Zero<1>();
  unit.template Zero<2>();
  unit.template Zero<3>();
}

// The order (row tile, column tile) is (0, 0), (0, 1), (1, 0), (1, 1).
template <class Unit>
HWY_INLINE void StoreSums(Unit& unit, float* sums) {
  unit.template Store<0>(sums);
  unit.template Store<1>(sums + kTileElements);
  unit.template Store<2>(sums + 2 * kTileElements);
  unit.template Store<3>(sums + 3 * kTileElements);
}

// A step of the depth. Each factor is loaded where it is first needed.
template <class Unit>
HWY_INLINE void DotStep(Unit& unit, const uint32_t* left_0, const uint32_t* left_1,
                        const uint32_t* right_0, const uint32_t* right_1) {
  unit.template Load<4>(left_0);
  unit.template Load<6>(right_0);
  unit.template Dot<0, 4, 6>();
  unit.template Load<7>(right_1);
  unit.template Dot<1, 4, 7>();
  unit.template Load<5>(left_1);
  unit.template Dot<2, 5, 6>();
  unit.template Dot<3, 5, 7>();
}

}  // namespace tilescan::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TILESCAN_CPU_KERNELS_SCAN_AMX_PRODUCTS_INL_H_
