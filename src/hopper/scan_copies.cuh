// The warps that have TMA copy tiles: one brings x, B, C, CB and z to shared memory, one takes out
// away. One thread each.
#ifndef TILESCAN_HOPPER_SCAN_COPIES_CUH_
#define TILESCAN_HOPPER_SCAN_COPIES_CUH_

#include <cuda/ptx>

#include "hopper/ring.cuh"
#include "hopper/scan_params.h"
#include "hopper/scan_storage.h"

namespace tilescan::hopper {

// Of an operand with the dimensions (columns, tokens, heads or groups, batch).
struct TilePlace {
  int32_t first_column, first_token, head_or_group, batch_idx;
};

// One tile, or one for each of the block's heads: as many as the map's box has. Tokens behind
// seqlen come as zeros.
__device__ __forceinline__ void LoadTile(Tile& tile, const CUtensorMap& map, const TilePlace& place,
                                         uint64_t& barrier) {
  const int32_t coordinates[4] = {place.first_column, place.first_token, place.head_or_group,
                                  place.batch_idx};
  ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_cluster, ::cuda::ptx::space_global, &tile,
                                    &map, coordinates, &barrier);
}

// Tokens behind seqlen are left out.
__device__ __forceinline__ void StoreTile(const CUtensorMap& map, const TilePlace& place,
                                          const Tile& tile) {
  const int32_t coordinates[4] = {place.first_column, place.first_token, place.head_or_group,
                                  place.batch_idx};
  ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_global, ::cuda::ptx::space_shared, &map,
                                    coordinates, &tile);
}

// x or z of the block's heads. Where a group's last block has one head only, the second tile is the
// next group's (or zeros): what becomes of it is not stored.
template <int kStages>
__device__ __forceinline__ void LoadHeads(TileRing<kStages, kBlockHeads>& tiles,
                                          RingBarriers<kStages>& ring, RingCursor<kStages>& at,
                                          const CUtensorMap& map, const BlockHeads& heads,
                                          int32_t first_token) {
  WaitEmpty(ring, at);
  uint64_t& barrier = ring.full[at.stage];
  ExpectBytes(barrier, kBlockHeads * kTileBytes);
  LoadTile(tiles.tile[at.stage][0], map, {0, first_token, heads.first_head, heads.batch_idx},
           barrier);
  at.Advance();
}

// B, and for out C and CB, of the heads' group.
template <typename Config>
__device__ __forceinline__ void LoadGroup(const ScanParams& params, ScanStorage<Config>& storage,
                                          RingCursor<Config::kBStages>& at, const BlockHeads& heads,
                                          int32_t chunk_idx) {
  constexpr int kTiles = Config::kDstateTiles + (Config::kMakesOut ? Config::kDstateTiles + 1 : 0);
  WaitEmpty(storage.group_ring, at);
  uint64_t& barrier = storage.group_ring.full[at.stage];
  ExpectBytes(barrier, kTiles * kTileBytes);
  TilePlace place = {0, chunk_idx * kChunkSize, heads.group_idx, heads.batch_idx};
  if constexpr (Config::kMakesOut) {
    for (int idx = 0; idx < Config::kDstateTiles; ++idx) {
      place.first_column = idx * kTileColumns;
      LoadTile(storage.C.tile[at.stage][idx], params.maps.C, place, barrier);
    }
    const int32_t group = heads.batch_idx * params.ngroups + heads.group_idx;
    const int32_t coordinates[2] = {0, (group * params.plan.nchunks + chunk_idx) * kChunkSize};
    ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_cluster, ::cuda::ptx::space_global,
                                      &storage.CB.tile[at.stage][0], &params.maps.CB, coordinates,
                                      &barrier);
  }
  for (int idx = 0; idx < Config::kDstateTiles; ++idx) {
    place.first_column = idx * kTileColumns;
    LoadTile(storage.B.tile[at.stage][idx], params.maps.B, place, barrier);
  }
  at.Advance();
}

template <typename Config>
__device__ __forceinline__ void LoadTiles(const ScanParams& params, ScanStorage<Config>& storage) {
  RingCursor<Config::kXStages> x_at;
  RingCursor<Config::kBStages> group_at;
  RingCursor<Config::kZStages> z_at;
  ForEachPiece<Config>(params, [&](const Piece& piece) {
    const BlockHeads heads = HeadsOfTask(params, piece.task_idx);
#pragma unroll 1
    for (int32_t chunk_idx = piece.first_chunk; chunk_idx < piece.end_chunk; ++chunk_idx) {
      const int32_t first_token = chunk_idx * kChunkSize;
      LoadHeads(storage.x, storage.x_ring, x_at, params.maps.x, heads, first_token);
      LoadGroup<Config>(params, storage, group_at, heads, chunk_idx);
      if constexpr (Config::kHasZ) {
        LoadHeads(storage.z, storage.z_ring, z_at, params.maps.z, heads, first_token);
      }
    }
  });
}

template <typename Config>
__device__ __forceinline__ void StoreOut(const ScanParams& params, ScanStorage<Config>& storage) {
  RingCursor<Config::kOutStages> at;
  ForEachPiece<Config>(params, [&](const Piece& piece) {
    const BlockHeads heads = HeadsOfTask(params, piece.task_idx);
#pragma unroll 1
    for (int32_t chunk_idx = piece.first_chunk; chunk_idx < piece.end_chunk; ++chunk_idx) {
      for (int idx = 0; idx < kBlockHeads; ++idx) {
        WaitFull(storage.out_ring[idx], at);
        if (idx < heads.num_heads) {
          StoreTile(params.maps.out,
                    {0, chunk_idx * kChunkSize, heads.first_head + idx, heads.batch_idx},
                    storage.out.tile[at.stage][idx]);
          ::cuda::ptx::cp_async_bulk_commit_group();
          ::cuda::ptx::cp_async_bulk_wait_group_read<0>();
        }
        Arrive(storage.out_ring[idx].empty[at.stage]);
      }
      at.Advance();
    }
  });
  // Shared memory must outlive the last copy, and out be written before the kernel has ended.
  ::cuda::ptx::cp_async_bulk_wait_group<0>();
}

}  // namespace tilescan::hopper

#endif  // TILESCAN_HOPPER_SCAN_COPIES_CUH_
