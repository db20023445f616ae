// How this library was built.
#ifndef TILESCAN_PLAN_BUILD_INFO_H_
#define TILESCAN_PLAN_BUILD_INFO_H_

namespace tilescan {

struct BuildInfo {
  const char* commit;    // of the source, with "-dirty" when it was changed; or "unknown"
  const char* compiler;  // name and version
  const char* type;      // "Release", "Debug", ...
  const char* flags;
};

const BuildInfo& GetBuildInfo();

}  // namespace tilescan

#endif  // TILESCAN_PLAN_BUILD_INFO_H_
