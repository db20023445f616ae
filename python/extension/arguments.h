// The arguments of a call from Python, by name: one table of names serves parsing, defaults and
// messages.
#ifndef TILESCAN_PYTHON_EXTENSION_ARGUMENTS_H_
#define TILESCAN_PYTHON_EXTENSION_ARGUMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "tilescan/tilescan.h"

namespace tilescan::python {

// What a function takes: the names of its arguments, the first of which are required and may be
// given by position.
class Signature {
 public:
  Signature(const char* function, const std::vector<const char*>& names, size_t num_required);

  const char* function() const { return function_; }
  const char* name(size_t idx) const { return names_[idx]; }
  size_t size() const { return names_.size(); }
  size_t num_required() const { return num_required_; }
  // The place of a name, or size().
  size_t Find(nanobind::handle name) const;

 private:
  const char* function_;
  std::vector<const char*> names_;
  std::vector<PyObject*> interned_;
  size_t num_required_;
};

// The values of one call, in the signature's order. None counts as not given.
class Arguments {
 public:
  struct Positions {
    size_t skip = 0;  // values in front that are not of the signature
    size_t most;      // values of the signature that may be given by position
  };
  // Throws TypeError for too many values, for a name twice or unknown, and for a required one that
  // is missing.
  Arguments(const Signature& signature, const nanobind::args& args, const nanobind::kwargs& kwargs,
            const Positions& positions);

  // The value at a place, or an empty handle.
  nanobind::handle operator[](size_t idx) const { return values_[idx]; }
  const Signature& signature() const { return signature_; }

  // Values by place, with what they are when not given. Throw TypeError.
  bool Flag(size_t idx) const;
  int64_t Integer(size_t idx) const;
  void Number(size_t idx, float* number) const;  // left as it is when not given
  const char* Name(size_t idx) const;            // NULL when not given
  void Limits(size_t idx, float limits[2]) const;

 private:
  [[noreturn]] void ThrowWrongType(size_t idx, const char* expected) const;

  const Signature& signature_;
  static constexpr size_t kMaxArguments = 40;
  nanobind::handle values_[kMaxArguments];
};

}  // namespace tilescan::python

#endif  // TILESCAN_PYTHON_EXTENSION_ARGUMENTS_H_
