#include "bench/peer_library.h"

#include <dlfcn.h>

#include <stdexcept>

namespace tilescan::bench {

PeerLibrary::PeerLibrary(const std::string& path)
    : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(std::string("cannot open a peer: ") + dlerror());
  Load("tilescan_peer_version", &version_);
  if (version_() != TILESCAN_PEER_VERSION) {
    throw std::runtime_error(path + ": built for version " + std::to_string(version_()) +
                             " of bench/peer.h, expected " + std::to_string(TILESCAN_PEER_VERSION));
  }
  Load("tilescan_peer_name", &name_);
  Load("tilescan_peer_build", &build_);
  Load("tilescan_peer_last_error", &last_error_);
  Load("tilescan_peer_create_scan", &create_scan_);
  Load("tilescan_peer_create_state_update", &create_state_update_);
  Load("tilescan_peer_run", &run_);
  Load("tilescan_peer_out", &out_);
  Load("tilescan_peer_states", &states_);
  Load("tilescan_peer_destroy", &destroy_);
}

template <typename Function>
void PeerLibrary::Load(const char* symbol, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(handle_, symbol));
  if (*function == nullptr) {
    throw std::runtime_error(std::string("not a peer: ") + dlerror());
  }
}

void PeerLibrary::Check(tilescan_peer_status status, const char* doing) const {
  if (status == TILESCAN_PEER_OK) return;
  throw std::runtime_error("peer " + name() + ": cannot " + doing + ": " + last_error_());
}

PeerInstance PeerLibrary::CreateScan(const tilescan_peer_sizes& sizes,
                                     const tilescan_peer_operands& operands) const {
  tilescan_peer_instance* instance = nullptr;
  Check(create_scan_(&sizes, &operands, &instance), "create a scan");
  return PeerInstance(this, instance);
}

PeerInstance PeerLibrary::CreateStateUpdate(const tilescan_peer_sizes& sizes,
                                            const tilescan_peer_operands& operands,
                                            int32_t num_layers) const {
  tilescan_peer_instance* instance = nullptr;
  Check(create_state_update_(&sizes, &operands, num_layers, &instance), "create a state_update");
  return PeerInstance(this, instance);
}

}  // namespace tilescan::bench
