#include "numerics/elements.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tilescan::numerics {
namespace {

constexpr std::array kFloats = {DType::kFloat64, DType::kFloat32, DType::kBFloat16,
                                DType::kFloat16};

// Room for a few elements of any dtype.
struct Storage {
  alignas(8) std::array<unsigned char, 64> bytes{};
  TensorView View(DType dtype) {
    TensorView view;
    view.data = bytes.data();
    view.dtype = dtype;
    return view;
  }
};

TEST(Elements, WhatIsStoredIsLoadedAtTheSameOffset) {
  for (const DType dtype : kFloats) {
    Storage storage;
    const TensorView view = storage.View(dtype);
    StoreDouble(1.5, view, 0);
    StoreFloat(-0.15625f, view, 3);
    EXPECT_EQ(LoadDouble(view, 0), 1.5) << DTypeName(dtype);
    EXPECT_EQ(LoadFloat(view, 0), 1.5f) << DTypeName(dtype);
    EXPECT_EQ(LoadDouble(view, 3), -0.15625) << DTypeName(dtype);
    EXPECT_EQ(LoadFloat(view, 3), -0.15625f) << DTypeName(dtype);
    EXPECT_EQ(LoadDouble(view, 1), 0.0) << DTypeName(dtype);
  }
}

// Half a step of each format above 1, and a little more: float in between would make a tie of it.
TEST(Elements, DoublesAreRoundedOnce) {
  const double little = 0x1p-40;
  Storage storage;
  StoreDouble(1.0 + 0x1p-8 + little, storage.View(DType::kBFloat16), 0);
  EXPECT_EQ(LoadDouble(storage.View(DType::kBFloat16), 0), 1.0 + 0x1p-7);
  StoreDouble(1.0 + 0x1p-11 + little, storage.View(DType::kFloat16), 0);
  EXPECT_EQ(LoadDouble(storage.View(DType::kFloat16), 0), 1.0 + 0x1p-10);
  StoreDouble(1.0 + 0x1p-24 + little, storage.View(DType::kFloat32), 0);
  EXPECT_EQ(LoadDouble(storage.View(DType::kFloat32), 0), 1.0 + 0x1p-23);
  StoreDouble(1.0 + little, storage.View(DType::kFloat64), 0);
  EXPECT_EQ(LoadDouble(storage.View(DType::kFloat64), 0), 1.0 + little);
}

TEST(Elements, FloatIsExactWhereTheOperandIs) {
  Storage storage;
  const TensorView view = storage.View(DType::kFloat32);
  StoreFloat(0x1.fffffep-3f, view, 1);
  EXPECT_EQ(LoadDouble(view, 1), 0x1.fffffep-3);
  StoreDouble(1.0 + 0x1p-30, storage.View(DType::kFloat64), 0);
  EXPECT_EQ(LoadFloat(storage.View(DType::kFloat64), 0), 1.0f);
}

TEST(Elements, CopyWithinADtypeKeepsSignallingNans) {
  Storage from;
  Storage to;
  const uint32_t signalling = 0xffa00123u;
  *from.View(DType::kFloat32).At<uint32_t>(2) = signalling;
  CopyElement(from.View(DType::kFloat32), 2, to.View(DType::kFloat32), 1);
  EXPECT_EQ(*to.View(DType::kFloat32).At<uint32_t>(1), signalling);
}

TEST(Elements, CopyBetweenDtypesRounds) {
  Storage from;
  Storage to;
  StoreDouble(1.0 + 0x1p-8 + 0x1p-20, from.View(DType::kFloat32), 0);
  CopyElement(from.View(DType::kFloat32), 0, to.View(DType::kBFloat16), 0);
  EXPECT_EQ(LoadDouble(to.View(DType::kBFloat16), 0), 1.0 + 0x1p-7);
}

TEST(Elements, OnlyFloatsAreFloats) {
  for (const DType dtype : kFloats) EXPECT_TRUE(IsFloat(dtype));
  for (const DType dtype :
       {DType::kNone, DType::kInt64, DType::kInt32, DType::kUInt8, DType::kBool}) {
    EXPECT_FALSE(IsFloat(dtype));
  }
}

}  // namespace
}  // namespace tilescan::numerics
