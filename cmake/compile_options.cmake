# tilescan_compile_options: how every target of this project is compiled. Not exported.
add_library(tilescan_compile_options INTERFACE)
target_compile_features(tilescan_compile_options INTERFACE cxx_std_20)
target_compile_options(tilescan_compile_options INTERFACE
  # A designated initialiser names what differs from the default.
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wundef -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<BOOL:${TILESCAN_WERROR}>:-Werror>
  # Products and sums are fused where the source says so, not where a compiler likes: the same bits
  # from every compiler.
  -ffp-contract=off)

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(TILESCAN_SANITIZE)
  add_compile_options(-fsanitize=${TILESCAN_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TILESCAN_SANITIZE})
endif()
if(TILESCAN_BUILD_FUZZERS)
  # Coverage everywhere, so that the fuzzer sees into the library.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# GCC 12 warns of its own std::string: "text" + std::to_string(n) (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tilescan_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
