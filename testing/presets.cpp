#include "testing/presets.h"

namespace tilescan::testing {
namespace {

// Sources: the models' published configurations (Hugging Face config.json), the defaults of the
// state-spaces/mamba README for mamba2-*, and Megatron-Bridge's nemotron_h_provider for nemotron-*.
// clang-format off
constexpr ModelPreset kModelPresets[] = {
    //                          nheads headdim dstate ngroups chunk_size num_layers
    {"mamba2-130m",                 24,     64,   128,      1,       256,        24},
    {"mamba2-370m",                 32,     64,   128,      1,       256,        48},
    {"mamba2-780m",                 48,     64,   128,      1,       256,        48},
    {"mamba2-1.3b",                 64,     64,   128,      1,       256,        48},
    {"mamba2-2.7b",                 80,     64,   128,      1,       256,        64},
    {"codestral-mamba-7b",         128,     64,   128,      8,       256,        64},
    {"bamba-9b",                   128,     64,   128,      1,       256,        29},
    {"granite-4.0-h-350m",          48,     32,   128,      1,       256,        28},
    {"granite-4.0-h-1b",            48,     64,   128,      1,       256,        36},
    {"granite-4.0-h-micro",         64,     64,   128,      1,       256,        36},
    {"granite-4.0-h-tiny",          48,     64,   128,      1,       256,        36},
    {"granite-4.0-h-small",        128,     64,   128,      1,       256,        36},
    {"nemotron-h-8b",              128,     64,   128,      8,       128,        24},
    {"nemotron-h-56b",             256,     64,   256,      8,       128,        54},
    {"nemotron-nano-v2-9b",        128,     80,   128,      8,       128,        27},
    {"nemotron-nano-v2-12b",       128,     80,   128,      8,       128,        28},
    {"nemotron-3-nano-30b",         64,     64,   128,      8,       128,        23},
    {"falcon-h1-0.5b",              24,     64,   128,      1,       256,        36},
    {"falcon-h1-1.5b",              48,     64,   256,      1,       256,        24},
    {"falcon-h1-1.5b-deep",         24,     64,   256,      1,       256,        66},
    {"falcon-h1-3b",                32,    128,   256,      1,       256,        32},
    {"falcon-h1-7b",                24,    128,   256,      1,       256,        44},
    {"falcon-h1-34b",               32,    128,   256,      2,       256,        72},
    {"zamba2-1.2b",                 64,     64,   128,      1,       256,        38},
    {"zamba2-2.7b",                 80,     64,    64,      1,       256,        54},
    {"zamba2-7b",                  112,     64,    64,      2,       256,        81},
};
// clang-format on

}  // namespace

std::span<const ModelPreset> ModelPresets() { return kModelPresets; }

const ModelPreset* FindModelPreset(const std::string& name) {
  for (const ModelPreset& preset : kModelPresets) {
    if (preset.name == name) return &preset;
  }
  return nullptr;
}

std::string ModelPresetNames() {
  std::string names;
  for (const ModelPreset& preset : kModelPresets) {
    if (!names.empty()) names += ", ";
    names += preset.name;
  }
  return names;
}

}  // namespace tilescan::testing
