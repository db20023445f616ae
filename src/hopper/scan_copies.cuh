// The warps that have TMA copy tiles: one brings x, B, C, CB and z to shared memory, one takes out
// away. One thread each.
#ifndef TILESCAN_HOPPER_SCAN_COPIES_CUH_
#define TILESCAN_HOPPER_SCAN_COPIES_CUH_

#include <cuda/ptx>

#include "hopper/ring.cuh"
#include "hopper/scan_params.h"
#include "hopper/scan_storage.h"

namespace tilescan::hopper {

// Of an operand with the dimensions (columns, tokens, row blocks or groups, batch).
struct TilePlace {
  int32_t first_column, first_token, block_or_group, batch_idx;
};

// One tile, or one for each of the task's row blocks: as many as the map's box has. Tokens behind
// seqlen, and columns behind the last, come as zeros.
__device__ __forceinline__ void LoadTile(Tile& tile, const CUtensorMap& map, const TilePlace& place,
                                         uint64_t& barrier) {
  const int32_t coordinates[4] = {place.first_column, place.first_token, place.block_or_group,
                                  place.batch_idx};
  ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_cluster, ::cuda::ptx::space_global, &tile,
                                    &map, coordinates, &barrier);
}

// Tokens behind seqlen, and columns behind the last, are left out.
__device__ __forceinline__ void StoreTile(const CUtensorMap& map, const TilePlace& place,
                                          const Tile& tile) {
  const int32_t coordinates[4] = {place.first_column, place.first_token, place.block_or_group,
                                  place.batch_idx};
  ::cuda::ptx::cp_async_bulk_tensor(::cuda::ptx::space_global, ::cuda::ptx::space_shared, &map,
                                    coordinates, &tile);
}

// A row block of x, z or out.
template <typename Config>
__device__ __forceinline__ TilePlace PlaceOfBlock(const TaskRows& rows, int32_t group_blocks,
                                                  int32_t block, int32_t first_token) {
  if constexpr (Config::kRowHeads == 1) {
    return {0, first_token, rows.group_idx * group_blocks + block, rows.batch_idx};
  } else {
    return {block * kBlockRows, first_token, rows.group_idx, rows.batch_idx};
  }
}

// x or z of the task's row blocks. Where a group's last task has one only, the second tile is that
// once more, or from the next group (or zeros): what becomes of it is not stored.
template <typename Config, int kStages>
__device__ __forceinline__ void LoadRows(TileRing<kStages, Config::kRowBlocks>& tiles,
                                         RingBarriers<kStages>& ring, RingCursor<kStages>& at,
                                         const CUtensorMap& map, const TaskRows& rows,
                                         int32_t group_blocks, int32_t first_token) {
  constexpr int kCopies = Config::kRowHeads == 1 ? 1 : Config::kRowBlocks;
  WaitEmpty(ring, at);
  uint64_t& barrier = ring.full[at.stage];
  ExpectBytes(barrier, Config::kRowBlocks * kTileBytes);
  for (int idx = 0; idx < kCopies; ++idx) {
    LoadTile(tiles.tile[at.stage][idx], map,
             PlaceOfBlock<Config>(rows, group_blocks, rows.Block(idx), first_token), barrier);
  }
  at.Advance();
}

// B, and for out C and CB, of the rows' group.
template <typename Config>
__device__ __forceinline__ void LoadGroup(const ScanParams& params, ScanStorage<Config>& storage,
                                          RingCursor<Config::kBStages>& at, const TaskRows& rows,
                                          int32_t chunk_idx) {
  constexpr int kTiles = Config::kDstateTiles + (Config::kMakesOut ? Config::kDstateTiles + 1 : 0);
  WaitEmpty(storage.group_ring, at);
  uint64_t& barrier = storage.group_ring.full[at.stage];
  ExpectBytes(barrier, kTiles * kTileBytes);
  TilePlace place = {0, chunk_idx * kChunkSize, rows.group_idx, rows.batch_idx};
  if constexpr (Config::kMakesOut) {
    for (int idx = 0; idx < Config::kDstateTiles; ++idx) {
      place.first_column = idx * kTileColumns;
      LoadTile(storage.C.tile[at.stage][idx], params.maps.C, place, barrier);
    }
    const int32_t group = rows.batch_idx * params.ngroups + rows.group_idx;
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
  const int32_t blocks = GroupBlocks(params);
  ForEachPiece<Config>(params, [&](const Piece& piece) {
    const TaskRows rows = RowsOfTask<Config>(params, piece.task_idx);
#pragma unroll 1
    for (int32_t chunk_idx = piece.first_chunk; chunk_idx < piece.end_chunk; ++chunk_idx) {
      const int32_t first_token = chunk_idx * kChunkSize;
      LoadRows<Config>(storage.x, storage.x_ring, x_at, params.maps.x, rows, blocks, first_token);
      // For CB. The caller's operands were there before the first of the scan's kernels began.
      if constexpr (Config::kMakesOut) cudaGridDependencySynchronize();
      LoadGroup<Config>(params, storage, group_at, rows, chunk_idx);
      if constexpr (Config::kHasZ) {
        LoadRows<Config>(storage.z, storage.z_ring, z_at, params.maps.z, rows, blocks, first_token);
      }
    }
  });
}

template <typename Config>
__device__ __forceinline__ void StoreOut(const ScanParams& params, ScanStorage<Config>& storage) {
  RingCursor<Config::kOutStages> at;
  const int32_t group_blocks = GroupBlocks(params);
  ForEachPiece<Config>(params, [&](const Piece& piece) {
    const TaskRows rows = RowsOfTask<Config>(params, piece.task_idx);
#pragma unroll 1
    for (int32_t chunk_idx = piece.first_chunk; chunk_idx < piece.end_chunk; ++chunk_idx) {
      for (int idx = 0; idx < Config::kRowBlocks; ++idx) {
        WaitFull(storage.out_ring[idx], at);
        if (idx < rows.num_blocks) {
          StoreTile(params.maps.out,
                    PlaceOfBlock<Config>(rows, group_blocks, rows.first_block + idx,
                                         chunk_idx * kChunkSize),
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
