// A peer (bench/peer.h) opened at run time.
#ifndef TILESCAN_BENCH_PEER_LIBRARY_H_
#define TILESCAN_BENCH_PEER_LIBRARY_H_

#include <memory>
#include <string>

#include "bench/peer.h"

namespace tilescan::bench {

class PeerInstance;

// All of it throws std::runtime_error, with the peer's own message where there is one. The library
// stays open until the program ends: threads that its runtime has started may still be in it.
class PeerLibrary {
 public:
  // Opens the library and checks its version.
  explicit PeerLibrary(const std::string& path);
  PeerLibrary(const PeerLibrary&) = delete;
  PeerLibrary& operator=(const PeerLibrary&) = delete;

  std::string name() const { return name_(); }
  std::string build() const { return build_(); }

  // The library must outlive them.
  PeerInstance CreateScan(const tilescan_peer_sizes& sizes,
                          const tilescan_peer_operands& operands) const;
  PeerInstance CreateStateUpdate(const tilescan_peer_sizes& sizes,
                                 const tilescan_peer_operands& operands, int32_t num_layers) const;

 private:
  friend class PeerInstance;

  template <typename Function>
  void Load(const char* symbol, Function** function);
  void Check(tilescan_peer_status status, const char* doing) const;

  void* handle_ = nullptr;
  decltype(&tilescan_peer_version) version_ = nullptr;
  decltype(&tilescan_peer_name) name_ = nullptr;
  decltype(&tilescan_peer_build) build_ = nullptr;
  decltype(&tilescan_peer_last_error) last_error_ = nullptr;
  decltype(&tilescan_peer_create_scan) create_scan_ = nullptr;
  decltype(&tilescan_peer_create_state_update) create_state_update_ = nullptr;
  decltype(&tilescan_peer_run) run_ = nullptr;
  decltype(&tilescan_peer_out) out_ = nullptr;
  decltype(&tilescan_peer_states) states_ = nullptr;
  decltype(&tilescan_peer_destroy) destroy_ = nullptr;
};

// Something the peer can run.
class PeerInstance {
 public:
  void Run() const { library_->Check(library_->run_(instance_.get()), "run"); }
  const float* out() const { return library_->out_(instance_.get()); }
  const float* states(int32_t layer_idx) const {
    return library_->states_(instance_.get(), layer_idx);
  }

 private:
  friend class PeerLibrary;
  PeerInstance(const PeerLibrary* library, tilescan_peer_instance* instance)
      : library_(library), instance_(instance, library->destroy_) {}

  const PeerLibrary* library_;
  std::unique_ptr<tilescan_peer_instance, decltype(&tilescan_peer_destroy)> instance_;
};

}  // namespace tilescan::bench

#endif  // TILESCAN_BENCH_PEER_LIBRARY_H_
