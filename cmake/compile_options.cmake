# tilescan_compile_options: how every target of this project is compiled. Not exported.
add_library(tilescan_compile_options INTERFACE)
target_compile_features(tilescan_compile_options INTERFACE cxx_std_20)
# Products and sums are fused where the source says so, not where a compiler likes: the same bits
# from every compiler. A designated initialiser names what differs from the default.
set(host_options
  -ffp-contract=off
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wundef -Wvla)
target_compile_options(tilescan_compile_options INTERFACE
  "$<$<COMPILE_LANGUAGE:C,CXX>:${host_options}>"
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<AND:$<BOOL:${TILESCAN_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>
  $<$<AND:$<BOOL:${TILESCAN_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>)

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
# tilescan_lighten_sanitizers(OPTIONS...): for code that tests the library, which the sanitizers watch
# for what the library does to it. Instrumented in full, it takes three times as long to compile.
function(tilescan_lighten_sanitizers)
  if(TILESCAN_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=undefined ${ARGN})
  endif()
endfunction()
# tilescan_optimize_sanitized(TARGET SOURCES...): sources that compute for long, and so are optimised in
# a sanitized build that is not (CMakePresets.json: asan).
function(tilescan_optimize_sanitized target)
  if(TILESCAN_SANITIZE)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES
      COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

set(TILESCAN_PRECOMPILE "" CACHE STRING
  "What is compiled with precompiled headers: library, testing, tests")
# tilescan_precompile(PART TARGET HEADERS...): headers that most of a part's sources include. A source
# names what it uses all the same: the optimised build has no precompiled headers.
function(tilescan_precompile part target)
  if(part IN_LIST TILESCAN_PRECOMPILE)
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
if(TILESCAN_BUILD_FUZZERS)
  # Coverage everywhere, so that the fuzzer sees into the library.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

# GCC 12 warns of its own std::string: "text" + std::to_string(n) (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(tilescan_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
