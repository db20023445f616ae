// The decoding step of a head of a row of the batch, one or several tokens:
//
//   state = exp(dt A) state + dt x B^T ;  out = state C + D x ;  with z: out *= silu(z)
//
// state (slots, nheads, headdim, dstate), x z out (batch, T, nheads, headdim), dt (batch, T,
// nheads), B C (batch, T, ngroups, dstate), any float dtype each. Bound by reading and writing the
// state, once whatever T is. So a block takes rows of headdim of one head; each lane of a warp
// holds elements of some rows in registers, in fp32, through all tokens, and asks for them before
// anything else. What a token brings, of any dtype and stride, the block reads together into shared
// memory. Rows that are no whole vectors of 16 bytes go by elements: state_update_any.cuh.
#include "cuda/state_update.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "cuda/launch.cuh"
#include "cuda/state_held.cuh"
#include "cuda/state_update_any.cuh"
#include "cuda/state_update_once.cuh"
#include "plan/variant.h"

namespace tilescan::cuda {
namespace {

// Several tokens.
template <typename Shape>
__global__ void __launch_bounds__(kThreads)
    StateUpdateKernel(const __grid_constant__ StateUpdateProblem problem, int first_batch) {
  static_assert(Shape::kGroups == 1);
  __shared__ TokenInputs<Shape> inputs;
  const Place place = FindPlace(problem, first_batch, Shape::kBlockRows);
  if (place.is_padding) {
    StoreZeros(problem, place);
    return;
  }
  Held<Shape> state;
  state.Load(problem, place, 0, 0);
  if (place.is_fresh && place.num_accepted == 0) state.Store(problem, place, 0, 0);
  for (int64_t token = 0; token < problem.sizes.num_tokens; ++token) {
    if (token > 0) __syncthreads();
    LoadInputs(problem, place, token, 0, &inputs);
    __syncthreads();
    float sum[Shape::kRows];
    state.Step(inputs, 0, sum);
    if (token + 1 == place.num_accepted) state.Store(problem, place, 0, 0);
    Held<Shape>::SumOverLanes(sum);
    StoreOut(problem, place, token, 0, inputs, sum);
  }
}

// ---- launch ----

int64_t NumRowBlocks(const StateUpdateSizes& sizes, int64_t block_rows) {
  return (sizes.headdim + block_rows - 1) / block_rows;
}

// Calls launch(grid, first_batch) -> Status until the batch is through: a grid has a limited third
// dimension.
template <typename LaunchGrid>
Status LaunchOverBatch(const StateUpdateSizes& sizes, int block_rows, const LaunchGrid& launch) {
  constexpr int64_t kMostBatch = 65535;
  dim3 grid(static_cast<unsigned>(sizes.nheads),
            static_cast<unsigned>(NumRowBlocks(sizes, block_rows)));
  for (int64_t first = 0; first < sizes.batch; first += kMostBatch) {
    grid.z = static_cast<unsigned>(std::min(sizes.batch - first, kMostBatch));
    TILESCAN_RETURN_IF_ERROR(launch(grid, static_cast<int>(first)));
  }
  return Status();
}

// What to do with the kernel of a shape: for several tokens, for one, or for any state.
struct Load {
  bool is_unaligned = false;  // whatever the problem says

  template <typename Shape>
  Status Do() const {
    return LoadKernel("state_update", StateUpdateKernel<Shape>);
  }
  template <typename Shape>
  Status DoOnce() const {
    return LoadKernel("state_update", StateStepKernel<Shape>);
  }
  template <typename Shape>
  Status DoAny() const {
    return LoadKernel("state_update", StateUpdateAnyKernel<Shape>);
  }
};

struct Enqueue {
  const StateUpdateProblem& problem;
  cudaStream_t stream;
  bool is_unaligned = false;

  template <typename Shape>
  Status Do() const {
    return LaunchOverBatch(problem.sizes, Shape::kBlockRows, [&](dim3 grid, int first_batch) {
      return LaunchKernel("state_update", StateUpdateKernel<Shape>, {grid, kThreads, 0, stream},
                          problem, first_batch);
    });
  }
  template <typename Shape>
  Status DoOnce() const {
    return LaunchOverBatch(problem.sizes, Shape::kBlockRows, [&](dim3 grid, int first_batch) {
      return LaunchKernel("state_update", StateStepKernel<Shape>, {grid, kThreads, 0, stream},
                          problem, first_batch);
    });
  }
  template <typename Shape>
  Status DoAny() const {
    const int slab_tokens = static_cast<int>(
        std::min<int64_t>(problem.sizes.num_tokens, kMostSums / Shape::kBlockRows));
    const size_t bytes = sizeof(float) * static_cast<size_t>(slab_tokens) * Shape::kBlockRows;
    return LaunchOverBatch(problem.sizes, Shape::kBlockRows, [&](dim3 grid, int first_batch) {
      return LaunchKernel("state_update", StateUpdateAnyKernel<Shape>,
                          {grid, kThreads, bytes, stream}, problem, first_batch, slab_tokens);
    });
  }
};

// Vectors that a lane holds at once for one token.
constexpr int kHeldVectors = 4;
// Elements that it holds through several tokens.
constexpr int kHeldFloats = 16;

// Rows of whole vectors, dense and aligned. When planning, data is null and taken for aligned.
bool HasVectors(const StateUpdateProblem& problem, int64_t size) {
  const TensorView& state = problem.operands.state;
  bool has_vectors = problem.sizes.dstate % size == 0 && state.strides[3] == 1 &&
                     reinterpret_cast<uintptr_t>(state.data) % sizeof(uint4) == 0 &&
                     std::abs(state.strides[2]) < INT32_MAX / problem.sizes.headdim;
  for (size_t dim = 0; dim < 3; ++dim) has_vectors = has_vectors && state.strides[dim] % size == 0;
  return has_vectors;
}

template <typename T, int kLanes, int kPasses>
struct Shapes {
  static constexpr int kSize = Vectors<T>::kSize;
  using Any = Shape<Elements<kSize>, kLanes, kPasses, 1>;
  using Tokens = Shape<Vectors<T>, kLanes, kPasses, kHeldFloats / (kPasses * kSize)>;
  using Once = Shape<Vectors<T>, kLanes, kPasses, kHeldVectors / kPasses>;
  // Where there is work enough to fill the GPU: what a block takes, one group after another, as
  // measured (docs/performance.md).
  static constexpr bool kIsNarrow = sizeof(T) < sizeof(float);
  static constexpr int kManyRows = kIsNarrow ? 64 : Once::kBlockRows;
  static constexpr int kManyHeld = kIsNarrow || kPasses > 1 ? kHeldVectors : 2;
  using ManyVectors = Vectors<T, kIsNarrow>;
  using ManyGroup = Shape<ManyVectors, kLanes, kPasses, kManyHeld / kPasses>;
  using Many =
      Shape<ManyVectors, kLanes, kPasses, ManyGroup::kRows, kManyRows / ManyGroup::kBlockRows>;
};

template <typename ShapesOfRow, typename Action>
Status WithLanes(const StateUpdateProblem& problem, const Action& action) {
  using Any = typename ShapesOfRow::Any;
  using Once = typename ShapesOfRow::Once;
  using Many = typename ShapesOfRow::Many;
  const StateUpdateSizes& sizes = problem.sizes;
  if (action.is_unaligned || sizes.dstate > Any::kSegment ||
      !HasVectors(problem, ShapesOfRow::kSize)) {
    return action.template DoAny<Any>();
  }
  if (sizes.num_tokens > 1) return action.template Do<typename ShapesOfRow::Tokens>();
  const int64_t num_row_blocks = NumRowBlocks(sizes, Many::kBlockRows);
  const bool fills_gpu = sizes.batch * sizes.nheads * num_row_blocks >=
                         int64_t{kStepBlocks<Many>} * Facts().num_multiprocessors;
  const int64_t num_idle_rows = num_row_blocks * Many::kBlockRows - sizes.headdim;
  return fills_gpu && num_idle_rows <= sizes.headdim / 8 ? action.template DoOnce<Many>()
                                                         : action.template DoOnce<Once>();
}

// All that there are, those of the shortest rows first.
template <typename... AllShapes>
struct ShapeList {};
template <typename T>
struct ShapesFor {
  using List = ShapeList<Shapes<T, 16, 1>, Shapes<T, 32, 1>>;
};
template <>
struct ShapesFor<float> {
  using List = ShapeList<Shapes<float, 16, 1>, Shapes<float, 32, 1>, Shapes<float, 32, 2>>;
};

// The first that hold a row, else the last.
template <typename First, typename... Others, typename Action>
Status WithFirstOf(ShapeList<First, Others...>, const StateUpdateProblem& problem,
                   const Action& action) {
  if constexpr (sizeof...(Others) > 0) {
    if (problem.sizes.dstate > First::Any::kSegment) {
      return WithFirstOf(ShapeList<Others...>(), problem, action);
    }
  }
  return WithLanes<First>(problem, action);
}

template <typename T, typename Action>
Status WithShapeFor(const StateUpdateProblem& problem, const Action& action) {
  return WithFirstOf(typename ShapesFor<T>::List(), problem, action);
}

template <typename Action>
Status WithShape(const StateUpdateProblem& problem, const Action& action) {
  switch (problem.operands.state.dtype) {
    case DType::kFloat32:
      return WithShapeFor<float>(problem, action);
    case DType::kBFloat16:
      return WithShapeFor<__nv_bfloat16>(problem, action);
    default:
      return WithShapeFor<__half>(problem, action);
  }
}

template <typename ShapesOfRow>
Status LoadShapes() {
  TILESCAN_RETURN_IF_ERROR(Load{}.Do<typename ShapesOfRow::Tokens>());
  TILESCAN_RETURN_IF_ERROR(Load{}.DoOnce<typename ShapesOfRow::Once>());
  TILESCAN_RETURN_IF_ERROR(Load{}.DoOnce<typename ShapesOfRow::Many>());
  return Load{}.DoAny<typename ShapesOfRow::Any>();
}

template <typename... AllShapes>
Status LoadAll(ShapeList<AllShapes...>) {
  Status status;
  static_cast<void>(((status = LoadShapes<AllShapes>()).ok() && ...));
  return status;
}

}  // namespace

std::string ReasonAgainstStateUpdate(const StateUpdateProblem& problem) {
  // A grid's dimensions, at the fewest rows that a block can have.
  if (NumRowBlocks(problem.sizes, kWarps) > 65535) return "headdim is more than 262140";
  return problem.sizes.nheads > INT32_MAX || problem.sizes.batch > INT32_MAX
             ? "nheads or batch is more than 2^31 - 1"
             : "";
}

Status PrepareStateUpdate(const StateUpdateProblem& problem) {
  TILESCAN_RETURN_IF_ERROR(WithShape(problem, Load{}));
  return WithShape(problem, Load{.is_unaligned = true});
}

Status PrepareAllStateUpdates() {
  TILESCAN_RETURN_IF_ERROR(LoadAll(ShapesFor<float>::List()));
  TILESCAN_RETURN_IF_ERROR(LoadAll(ShapesFor<__nv_bfloat16>::List()));
  return LoadAll(ShapesFor<__half>::List());
}

Status RunStateUpdate(const StateUpdateProblem& problem, cudaStream_t stream) {
  if (problem.sizes.batch == 0) return Status();
  return WithShape(problem, Enqueue{problem, stream});
}

}  // namespace tilescan::cuda
