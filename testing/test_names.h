// Names of parameterised tests.
#ifndef TILESCAN_TESTING_TEST_NAMES_H_
#define TILESCAN_TESTING_TEST_NAMES_H_

#include <cctype>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "testing/target.h"

namespace tilescan::testing {

// GoogleTest takes letters, digits and underscores only.
inline std::string TestName(std::string name) {
  for (char& letter : name) {
    if (letter == '-') letter = 'm';
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

template <typename Case>
std::vector<std::string> NamesOf(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  for (const Case& any_case : cases) names.push_back(any_case.name);
  return names;
}

// The name of a test whose parameter is a target, or a tuple of a case's name (or another word) and
// a target.
struct NameOfTest {
  template <typename Info>
  std::string operator()(const Info& test_info) const {
    return Of(test_info.param);
  }

 private:
  static std::string Of(const Target& target) { return TestName(target.Name()); }
  static std::string Of(const std::tuple<std::string, Target>& parameter) {
    return TestName(std::get<1>(parameter).Name() + "/" + std::get<0>(parameter));
  }
};

// How GoogleTest prints a target.
inline void PrintTo(const Target& target, std::ostream* stream) { *stream << target.Name(); }

}  // namespace tilescan::testing

#endif  // TILESCAN_TESTING_TEST_NAMES_H_
