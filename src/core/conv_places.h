// Where the convolution's decoding step finds and puts values in a row of conv_state: at the end of
// a row that is shifted, or around a circular buffer.
#ifndef TILESCAN_CORE_CONV_PLACES_H_
#define TILESCAN_CORE_CONV_PLACES_H_

#include <cstdint>

#include "core/causal_conv1d.h"
#include "core/host_device.h"

namespace tilescan {

struct ConvPlaces {
  int64_t state_len;
  int64_t num_tokens;
  int64_t first_place;  // of the first token in a circular buffer
  bool is_circular;

  // num_seen: the row's of cache_seqlens, if there are any. Of any value, so that places are within
  // the row whatever a GPU's caller gives.
  TILESCAN_HOST_DEVICE ConvPlaces(const CausalConv1dUpdateProblem& problem, int64_t num_seen)
      : state_len(problem.sizes.state_len),
        num_tokens(problem.sizes.num_tokens),
        first_place(0),
        is_circular(problem.operands.cache_seqlens.present()) {
    if (!is_circular) return;
    first_place = num_seen % state_len;
    if (first_place < 0) first_place += state_len;
  }

  // Of the value `age` tokens before the first, 1 for the last.
  TILESCAN_HOST_DEVICE int64_t Before(int64_t age) const {
    if (!is_circular) return state_len - age;
    const int64_t place = first_place - age;
    return place < 0 ? place + state_len : place;
  }
  // Of a token's x; negative: nowhere, as later tokens take all places.
  TILESCAN_HOST_DEVICE int64_t Of(int64_t token) const {
    return is_circular ? (first_place + token) % state_len : state_len - num_tokens + token;
  }
  // Places of a row that is shifted that keep what stands num_tokens behind them.
  TILESCAN_HOST_DEVICE int64_t NumShifted() const {
    return !is_circular && state_len > num_tokens ? state_len - num_tokens : 0;
  }
};

}  // namespace tilescan

#endif  // TILESCAN_CORE_CONV_PLACES_H_
