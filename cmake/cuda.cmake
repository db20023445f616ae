# TILESCAN_HAS_CUDA: whether the CUDA component is built, and how.
set(TILESCAN_CUDA "AUTO" CACHE STRING
  "The CUDA component: ON, OFF, or AUTO (where CUDA 13.5 or newer is found)")
set_property(CACHE TILESCAN_CUDA PROPERTY STRINGS AUTO ON OFF)
# All that the kernels are written for; 90a is Hopper with its own instructions.
set(TILESCAN_CUDA_ARCHITECTURES "80;86;89;90;90a;100;103;120" CACHE STRING
  "GPU architectures to compile for")

option(TILESCAN_RACECHECK
  "Synchronise GPU warps so that compute-sanitizer's racecheck can follow: slower" OFF)

set(TILESCAN_HAS_CUDA OFF)
set(TILESCAN_CUDA_RUNTIME "")
if(TILESCAN_CUDA STREQUAL "OFF")
  return()
endif()

# tools/cuda_toolchain.sh installs one here; else the system's is taken.
find_program(TILESCAN_NVCC nvcc
  HINTS ${PROJECT_SOURCE_DIR}/.cuda/nvidia/cu13/bin ENV CUDA_PATH
  PATHS /usr/local/cuda/bin
  PATH_SUFFIXES bin)
set(reason "")
if(NOT TILESCAN_NVCC)
  set(reason "nvcc was not found")
else()
  execute_process(COMMAND ${TILESCAN_NVCC} --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCH "release ([0-9.]+)" ignored "${text}")
  # CUDA Tile C++ is complete from 13.5 on.
  if(CMAKE_MATCH_1 VERSION_LESS 13.5)
    set(reason "${TILESCAN_NVCC} is of CUDA ${CMAKE_MATCH_1}, expected 13.5 or newer")
  endif()
endif()
if(reason)
  if(TILESCAN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TILESCAN_CUDA is ON, but ${reason} (tools/cuda_toolchain.sh installs it)")
  endif()
  message(STATUS "Without CUDA: ${reason}")
  unset(TILESCAN_NVCC CACHE)  # so that one installed later is found
  return()
endif()

set(TILESCAN_HAS_CUDA ON)
# Without instructions of one architecture alone.
list(TRANSFORM TILESCAN_CUDA_ARCHITECTURES REPLACE "a$" "" OUTPUT_VARIABLE
  TILESCAN_CUDA_BASE_ARCHITECTURES)
list(REMOVE_DUPLICATES TILESCAN_CUDA_BASE_ARCHITECTURES)
message(STATUS "With CUDA: ${TILESCAN_NVCC}, for ${TILESCAN_CUDA_ARCHITECTURES}")

# Architectures and language standard are given as options below: CMake before 4 does not know this
# compiler's. The runtime is linked statically, so that the library loads where there is no driver.
set(CMAKE_CUDA_COMPILER ${TILESCAN_NVCC})
set(CMAKE_CUDA_ARCHITECTURES OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
cmake_path(GET TILESCAN_NVCC PARENT_PATH bin)
cmake_path(GET bin PARENT_PATH TILESCAN_CUDA_ROOT)
find_library(TILESCAN_CUDART cudart_static REQUIRED
  PATHS ${TILESCAN_CUDA_ROOT} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)

# For host code that calls the CUDA runtime, and for what links it.
add_library(tilescan_cuda_runtime INTERFACE)
target_include_directories(tilescan_cuda_runtime SYSTEM INTERFACE ${TILESCAN_CUDA_ROOT}/include)
target_link_libraries(tilescan_cuda_runtime INTERFACE
  ${TILESCAN_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
set(TILESCAN_CUDA_RUNTIME $<BUILD_INTERFACE:tilescan_cuda_runtime>)

# tilescan_cuda_options([TILE] [STRICT] [TARGET target] SOURCES... ARCHITECTURES...): for which GPUs
# CUDA sources of a target (the library, if none is named) are compiled. TILE: they hold tile
# programs. STRICT: registers that spill and wgmma that the assembler serialises are errors.
function(tilescan_cuda_options)
  cmake_parse_arguments(PARSE_ARGV 0 arg "TILE;STRICT" "TARGET" "SOURCES;ARCHITECTURES")
  if(NOT arg_TARGET)
    set(arg_TARGET tilescan_objects)
  endif()
  set(options --expt-relaxed-constexpr -std=c++20 -Xcompiler=-fvisibility=hidden)
  if(arg_TILE)
    list(APPEND options --enable-tile)
  endif()
  if(arg_STRICT)
    list(APPEND options -Xptxas=-warn-spills -Xptxas=-Werror)
  endif()
  foreach(architecture IN LISTS arg_ARCHITECTURES)
    list(APPEND options
      "--generate-code=arch=compute_${architecture},code=[sm_${architecture}]")
  endforeach()
  set_source_files_properties(${arg_SOURCES} TARGET_DIRECTORY ${arg_TARGET}
    PROPERTIES COMPILE_OPTIONS "${options}")
endfunction()
