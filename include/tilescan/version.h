/* tilescan's version. CMake reads it from here. */
#ifndef TILESCAN_VERSION_H_
#define TILESCAN_VERSION_H_

#define TILESCAN_VERSION_MAJOR 0
#define TILESCAN_VERSION_MINOR 1
#define TILESCAN_VERSION_PATCH 0
#define TILESCAN_VERSION_STRING "0.1.0"

#endif /* TILESCAN_VERSION_H_ */
