#include "cli/safetensors_header.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/dtype.h"
#include "cli/error.h"

namespace tilescan::cli {
namespace {

using Json = nlohmann::json;

// Receives the parser's events. A header is an object of objects; anything else is refused where it
// appears, so that neither depth nor size of the JSON can exhaust memory.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  SafetensorsContent TakeContent() { return std::move(content_); }

  bool null() override { Unexpected("null"); }
  bool boolean(bool) override { Unexpected("a truth value"); }
  bool number_integer(number_integer_t value) override { Unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { Unexpected(Quote(text)); }
  bool binary(binary_t&) override { Unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) Unexpected(std::to_string(value));
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      FailTensor(Concat("has ", value, " in ", key_, ", which is too large"));
    }
    if (place_ == Place::kOffsets) {
      if (num_offsets_ == 2) FailTensor("has more than two data_offsets");
      (num_offsets_++ == 0 ? entry_.begin : entry_.end) = value;
      return true;
    }
    if (entry_.shape.size() == TILESCAN_MAX_NDIM) {
      FailTensor(Concat("has more than ", TILESCAN_MAX_NDIM, " dimensions"));
    }
    entry_.shape.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      content_.metadata[key_] = value;
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") Unexpected("text");
    const DTypeNames* names = FindDTypeOfSafetensors(value);
    if (names == nullptr) {
      FailTensor(
          Concat("has dtype ", Quote(value), ", expected one of F64 F32 BF16 F16 I64 I32 U8 BOOL"));
    }
    entry_.dtype = names->dtype;
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kRoot;
    } else if (place_ == Place::kRoot && key_ == "__metadata__") {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kRoot) {
      place_ = Place::kTensor;
      entry_ = {};
      entry_.name = key_;
      num_offsets_ = 0;
    } else {
      Unexpected("an object");
    }
    return true;
  }

  bool key(string_t& name) override {
    std::set<std::string>& seen = place_ == Place::kRoot ? names_seen_ : keys_seen_;
    if (place_ == Place::kTensor && name != "dtype" && name != "shape" && name != "data_offsets") {
      FailTensor(Concat("has an unknown field ", Quote(name)));
    }
    if (!seen.insert(name).second) {
      Fail(Concat("the header names ", Quote(name), " twice",
                  place_ == Place::kTensor ? Concat(" in tensor ", Quote(entry_.name)) : ""));
    }
    key_ = name;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor) FinishTensor();
    keys_seen_.clear();
    place_ = place_ == Place::kRoot ? Place::kEnd : Place::kRoot;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") Unexpected("a list");
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    Fail(Concat("the header is not valid JSON, at its byte ", position));
  }

 private:
  enum class Place { kStart, kRoot, kMetadata, kTensor, kShape, kOffsets, kEnd };

  void FinishTensor() {
    for (const char* field : {"dtype", "shape", "data_offsets"}) {
      if (!keys_seen_.contains(field)) FailTensor(Concat("has no ", field));
    }
    if (num_offsets_ != 2) FailTensor("has fewer than two data_offsets");
    if (entry_.begin > entry_.end) {
      FailTensor(Concat("ends at byte ", entry_.end, ", before it begins (", entry_.begin, ")"));
    }
    content_.tensors[entry_.name] = entry_;
  }

  [[noreturn]] void Unexpected(const std::string& what) {
    switch (place_) {
      case Place::kMetadata:
        Fail(Concat("__metadata__ has ", what, " for ", Quote(key_), ", expected text"));
      case Place::kTensor:
      case Place::kShape:
      case Place::kOffsets:
        FailTensor(Concat("has ", what, " as ", key_));
      case Place::kStart:
      case Place::kRoot:
      case Place::kEnd:
        break;
    }
    Fail(Concat("the header has ", what, " for ", Quote(key_), ", expected an object"));
  }
  [[noreturn]] void FailTensor(const std::string& what) {
    Fail(Concat("tensor ", Quote(entry_.name), " ", what));
  }
  [[noreturn]] void Fail(const std::string& what) { throw Error(Concat(where_, ": ", what)); }

  std::string where_;
  SafetensorsContent content_;
  Place place_ = Place::kStart;
  std::string key_;                   // the last one read
  std::set<std::string> names_seen_;  // of the root
  std::set<std::string> keys_seen_;   // of the object within it
  SafetensorsEntry entry_;            // the tensor being read
  int num_offsets_ = 0;
};

}  // namespace

std::string Quote(const std::string& name) {
  constexpr size_t kMaxLength = 80;
  const std::string quoted =
      Json(name).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (quoted.size() <= kMaxLength) return quoted;
  return quoted.substr(0, kMaxLength) + "...\"";
}

SafetensorsContent ParseSafetensorsHeader(std::string_view text, const std::string& where) {
  HeaderReader reader(where);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.TakeContent();
}

}  // namespace tilescan::cli
