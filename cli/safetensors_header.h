// The JSON header of a safetensors file, read strictly and without building a tree.
#ifndef TILESCAN_CLI_SAFETENSORS_HEADER_H_
#define TILESCAN_CLI_SAFETENSORS_HEADER_H_

#include <string>
#include <string_view>

#include "cli/safetensors.h"

namespace tilescan::cli {

// A name from a file, quoted for a message: control characters escaped, long ones cut.
std::string Quote(const std::string& name);

// Parses the header's text. begin and end of the entries are as in the file, from the start of the
// data. Checked here: syntax, UTF-8, structure, types, known dtypes, duplicate names. Throws Error
// with where before the reason.
SafetensorsContent ParseSafetensorsHeader(std::string_view text, const std::string& where);

}  // namespace tilescan::cli

#endif  // TILESCAN_CLI_SAFETENSORS_HEADER_H_
