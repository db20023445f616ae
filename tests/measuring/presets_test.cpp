// The models' shapes.
#include "testing/presets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tilescan::testing {
namespace {

TEST(ModelPresets, AreWhatTheLibraryTakes) {
  std::set<std::string> names;
  for (const ModelPreset& preset : ModelPresets()) {
    SCOPED_TRACE(preset.name);
    EXPECT_TRUE(names.insert(preset.name).second) << "named twice";
    for (const int64_t size : {preset.nheads, preset.headdim, preset.dstate, preset.ngroups,
                               preset.chunk_size, preset.num_layers}) {
      EXPECT_GT(size, 0);
    }
    EXPECT_EQ(preset.nheads % preset.ngroups, 0);
  }
}

// d_model * expand == nheads * headdim, for models whose d_model is public: a slip in a row shows.
TEST(ModelPresets, HaveTheInnerWidthOfTheModel) {
  struct Width {
    const char* name;
    int64_t inner_width;
  };
  for (const Width& width : {Width{"mamba2-130m", 2 * 768}, Width{"mamba2-370m", 2 * 1024},
                             Width{"mamba2-780m", 2 * 1536}, Width{"mamba2-1.3b", 2 * 2048},
                             Width{"mamba2-2.7b", 2 * 2560}, Width{"codestral-mamba-7b", 2 * 4096},
                             Width{"bamba-9b", 2 * 4096}, Width{"granite-4.0-h-350m", 2 * 768},
                             Width{"zamba2-2.7b", 2 * 2560}, Width{"zamba2-7b", 2 * 3584}}) {
    const ModelPreset* preset = FindModelPreset(width.name);
    ASSERT_NE(preset, nullptr) << width.name;
    EXPECT_EQ(preset->nheads * preset->headdim, width.inner_width) << width.name;
  }
}

TEST(FindModelPreset, IsNullForNoName) {
  EXPECT_EQ(FindModelPreset("mamba2"), nullptr);
  EXPECT_EQ(FindModelPreset(""), nullptr);
}

TEST(ModelPresetNames, ListsThemAll) {
  const std::string names = ModelPresetNames();
  for (const ModelPreset& preset : ModelPresets()) {
    EXPECT_NE(names.find(preset.name), std::string::npos) << preset.name;
  }
}

}  // namespace
}  // namespace tilescan::testing
