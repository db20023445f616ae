#include "extension/arguments.h"

#include <cstring>

#include <nanobind/stl/string.h>

#include "extension/errors.h"

namespace nb = nanobind;

namespace tilescan::python {

Signature::Signature(const char* function, const std::vector<const char*>& names,
                     size_t num_required)
    : function_(function), names_(names), num_required_(num_required) {
  for (const char* name : names_) interned_.push_back(PyUnicode_InternFromString(name));
}

size_t Signature::Find(nb::handle name) const {
  // Names in source code are interned, so nearly always the first loop finds it.
  for (size_t idx = 0; idx < size(); ++idx) {
    if (interned_[idx] == name.ptr()) return idx;
  }
  for (size_t idx = 0; idx < size(); ++idx) {
    if (PyUnicode_Compare(interned_[idx], name.ptr()) == 0) return idx;
  }
  return size();
}

Arguments::Arguments(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs,
                     const Positions& positions)
    : signature_(signature) {
  const std::string function = std::string(signature.function()) + "()";
  const size_t num_values = args.size() - positions.skip;
  if (num_values > positions.most) {
    ThrowTypeError(function + " takes " + std::to_string(positions.most) +
                   " positional arguments, but " + std::to_string(num_values) + " were given");
  }
  for (size_t idx = 0; idx < num_values; ++idx) {
    values_[idx] = PyTuple_GET_ITEM(args.ptr(), static_cast<Py_ssize_t>(idx + positions.skip));
  }
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(kwargs.ptr(), &position, &name, &value) != 0) {
    const size_t idx = signature.Find(name);
    if (idx == signature.size()) {
      ThrowTypeError(function + " got an unexpected keyword argument '" +
                     nb::cast<std::string>(nb::handle(name)) + "'");
    }
    if (values_[idx].is_valid()) {
      ThrowTypeError(function + " got multiple values for argument '" + signature.name(idx) + "'");
    }
    values_[idx] = value;
  }
  for (size_t idx = 0; idx < signature.size(); ++idx) {
    if (values_[idx].is_none()) values_[idx] = nb::handle();
    if (idx < signature.num_required() && !values_[idx].is_valid()) {
      ThrowTypeError(function + " missing required argument '" + signature.name(idx) + "'");
    }
  }
}

bool Arguments::Flag(size_t idx) const {
  if (!values_[idx].is_valid()) return false;
  const int is_true = PyObject_IsTrue(values_[idx].ptr());
  if (is_true < 0) throw nb::python_error();
  return is_true == 1;
}

int64_t Arguments::Integer(size_t idx) const {
  if (!values_[idx].is_valid()) return 0;
  const int64_t value = PyLong_AsLongLong(values_[idx].ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    ThrowWrongType(idx, "an integer of 64 bits");
  }
  return value;
}

void Arguments::Number(size_t idx, float* number) const {
  if (!values_[idx].is_valid()) return;
  const double value = PyFloat_AsDouble(values_[idx].ptr());
  if (value == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    ThrowWrongType(idx, "a number");
  }
  *number = static_cast<float>(value);
}

const char* Arguments::Name(size_t idx) const {
  if (!values_[idx].is_valid()) return nullptr;
  if (!PyUnicode_Check(values_[idx].ptr())) ThrowWrongType(idx, "a string");
  const char* text = PyUnicode_AsUTF8(values_[idx].ptr());
  if (text == nullptr) throw nb::python_error();
  return text;
}

void Arguments::Limits(size_t idx, float limits[2]) const {
  if (!values_[idx].is_valid()) return;
  const nb::object pair = nb::steal(PySequence_Tuple(values_[idx].ptr()));
  if (!pair.is_valid() || PyTuple_GET_SIZE(pair.ptr()) != 2) {
    PyErr_Clear();
    ThrowWrongType(idx, "a pair of numbers");
  }
  for (Py_ssize_t side = 0; side < 2; ++side) {
    const double limit = PyFloat_AsDouble(PyTuple_GET_ITEM(pair.ptr(), side));
    if (limit == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      ThrowWrongType(idx, "a pair of numbers");
    }
    limits[side] = static_cast<float>(limit);
  }
}

void Arguments::ThrowWrongType(size_t idx, const char* expected) const {
  ThrowTypeError(std::string(signature_.function()) + "(): " + signature_.name(idx) + " is " +
                 TypeText(values_[idx]) + ", expected " + expected);
}

}  // namespace tilescan::python
