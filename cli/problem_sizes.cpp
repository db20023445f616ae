#include "cli/problem_sizes.h"

#include <optional>
#include <variant>
#include <vector>

#include "cli/dtype.h"
#include "cli/error.h"
#include "cli/flags.h"
#include "cli/safetensors_header.h"

namespace tilescan::cli {
namespace {

struct Sizes {
  int64_t batch = 1;
  int64_t seqlen = 0;
  int64_t nheads = 0;
  int64_t headdim = 0;
  int64_t dstate = 0;
  int64_t ngroups = 1;
};

Sizes Resolve(const SizeFlags& flags, bool needs_seqlen) {
  Sizes sizes;
  if (!flags.preset.empty()) {
    const testing::ModelPreset& preset = FindPreset(flags.preset);
    sizes = {1, 0, preset.nheads, preset.headdim, preset.dstate, preset.ngroups};
  }
  sizes.batch = flags.batch.value_or(sizes.batch);
  sizes.ngroups = flags.ngroups.value_or(sizes.ngroups);
  const auto take = [&](const std::optional<int64_t>& given, const char* flag, int64_t* size) {
    // A size that neither the flag nor a preset gives is still 0.
    if (!given && *size == 0) throw Error(Concat("plan: ", flag, " is needed"));
    *size = given.value_or(*size);
  };
  take(flags.nheads, "--nheads (or --preset)", &sizes.nheads);
  take(flags.headdim, "--headdim (or --preset)", &sizes.headdim);
  take(flags.dstate, "--dstate (or --preset)", &sizes.dstate);
  if (needs_seqlen) take(flags.seqlen, "--seqlen", &sizes.seqlen);
  return sizes;
}

tilescan_tensor Compact(const tilescan_dtype& dtype, const std::vector<int64_t>& shape) {
  return tilescan_contiguous(nullptr, dtype, static_cast<int32_t>(shape.size()), shape.data());
}

// The operands that both operations have. tokens: the dimensions of x before nheads.
template <typename Args>
void DescribeInputs(const Sizes& sizes, const std::vector<int64_t>& tokens,
                    const tilescan_dtype& dtype, Args* args) {
  const auto shape = [&](std::vector<int64_t> rest) {
    rest.insert(rest.begin(), tokens.begin(), tokens.end());
    return rest;
  };
  // Weights are not narrower than float32 in models; float64 operands are all float64.
  const tilescan_dtype weight_dtype = dtype.bits > 32 ? dtype : tilescan_float32();
  args->x = Compact(dtype, shape({sizes.nheads, sizes.headdim}));
  args->dt = Compact(dtype, shape({sizes.nheads}));
  args->B = Compact(dtype, shape({sizes.ngroups, sizes.dstate}));
  args->C = args->B;
  args->A = Compact(weight_dtype, {sizes.nheads});
  args->D = args->A;
  args->dt_bias = args->A;
}

}  // namespace

const testing::ModelPreset& FindPreset(const std::string& name) {
  const testing::ModelPreset* preset = testing::FindModelPreset(name);
  if (preset != nullptr) return *preset;
  throw Error(
      Concat("no preset is called ", Quote(name), ": there are ", testing::ModelPresetNames()));
}

void AddSizeFlags(CLI::App* command, SizeFlags* flags) {
  command->add_option("--preset", flags->preset, "A model's sizes, by name; other sizes override")
      ->type_name("NAME");
  const auto add = [&](const char* name, std::optional<int64_t>* size, const char* text) {
    command->add_option(name, *size, text)->type_name("N")->check(AtLeast(0));
  };
  add("--batch", &flags->batch, "Sequences at once (default: 1)");
  add("--seqlen", &flags->seqlen, "Tokens of each sequence");
  add("--nheads", &flags->nheads, "Heads");
  add("--headdim", &flags->headdim, "Channels of a head");
  add("--dstate", &flags->dstate, "Size of a channel's state");
  add("--ngroups", &flags->ngroups, "Groups of heads that share B and C (default: 1)");
  AddParsedFlag(command, "--dtype", ParseFloatDType, &flags->dtype,
                "Type of x, dt, B, C and out: fp32 (default), bf16, fp16 or fp64", "TYPE");
}

OperationArgs ArgsOfSizes(const SizeFlags& flags, const ProblemOptions& options) {
  OperationArgs args = EmptyArgs(options);
  const tilescan_dtype dtype = flags.dtype.value_or(tilescan_float32());
  if (auto* scan = std::get_if<tilescan_scan_forward_args>(&args)) {
    const Sizes sizes = Resolve(flags, /*needs_seqlen=*/true);
    DescribeInputs(sizes, {sizes.batch, sizes.seqlen}, dtype, scan);
    return args;
  }
  auto* update = std::get_if<tilescan_state_update_args>(&args);
  const Sizes sizes = Resolve(flags, /*needs_seqlen=*/false);
  if (flags.seqlen) throw Error("plan: --seqlen is a size of scan_forward; state_update is a step");
  DescribeInputs(sizes, {sizes.batch}, dtype, update);
  const tilescan_dtype default_dtype = dtype.bits > 32 ? dtype : tilescan_float32();
  update->state = Compact(options.state_dtype.value_or(default_dtype),
                          {sizes.batch, sizes.nheads, sizes.headdim, sizes.dstate});
  return args;
}

}  // namespace tilescan::cli
