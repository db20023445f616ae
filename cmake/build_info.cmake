# Run at build time: writes OUTPUT from TEMPLATE with the commit of SOURCE_DIR, if it changed.
# Without git, or outside a checkout, the commit is "unknown".
set(TILESCAN_COMMIT "unknown")
find_program(GIT_EXECUTABLE git)
if(GIT_EXECUTABLE AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE described
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET)
  if(described)
    set(TILESCAN_COMMIT "${described}")
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
