# The package: headers, the shared and the static library, find_package(tilescan) and pkg-config.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tilescan)

install(DIRECTORY include/tilescan DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
  PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS tilescan_shared EXPORT tilescanTargets)
install(TARGETS tilescan_static EXPORT tilescanStaticTargets)
install(EXPORT tilescanTargets NAMESPACE tilescan:: DESTINATION ${package_dir})
install(EXPORT tilescanStaticTargets NAMESPACE tilescan:: DESTINATION ${package_dir})

configure_package_config_file(cmake/tilescanConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tilescanConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tilescanConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/tilescanConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tilescanConfigVersion.cmake
  DESTINATION ${package_dir})

# Relative, so that the package may be installed or moved anywhere.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
  BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE prefix_from_pkgconfig)
configure_file(cmake/tilescan.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tilescan.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tilescan.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
