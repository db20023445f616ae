// The shapes of models that exist, by name.
#ifndef TILESCAN_TESTING_PRESETS_H_
#define TILESCAN_TESTING_PRESETS_H_

#include <cstdint>
#include <span>
#include <string>

namespace tilescan::testing {

// The Mamba-2 layers of a model.
struct ModelPreset {
  const char* name;  // "mamba2-130m": lower case, as users type it
  int64_t nheads;
  int64_t headdim;
  int64_t dstate;
  int64_t ngroups;
  int64_t chunk_size;  // what the model's configuration says; no kernel has to take it
  int64_t num_layers;  // that are Mamba-2 layers
};

std::span<const ModelPreset> ModelPresets();

// Null if there is none of that name.
const ModelPreset* FindModelPreset(const std::string& name);

// The names, separated by ", ": for messages.
std::string ModelPresetNames();

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_PRESETS_H_
