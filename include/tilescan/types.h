/* tilescan: what calls are described with: status codes, dtypes and tensors. Part of the public C
 * interface, included by tilescan/tilescan.h. */
#ifndef TILESCAN_TYPES_H_
#define TILESCAN_TYPES_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------- */

typedef enum tilescan_status {
  TILESCAN_OK = 0,
  /* An argument is wrong; the message names every violation found: argument, expected, got. */
  TILESCAN_INVALID_ARGUMENT = 1,
  /* The arguments are right, but the backend (or kernel) asked for cannot do it; the message
   * says why. */
  TILESCAN_UNSUPPORTED = 2,
  TILESCAN_OUT_OF_MEMORY = 3,
  /* A fault of the library itself. */
  TILESCAN_INTERNAL = 4
} tilescan_status;

/* ---- Tensors --------------------------------------------------------------------------------- */

/* Same layout and codes as DLPack's DLDataType. */
typedef struct tilescan_dtype {
  uint8_t code;   /* TILESCAN_DTYPE_* */
  uint8_t bits;   /* 0: the operand is absent */
  uint16_t lanes; /* 1 */
} tilescan_dtype;

#define TILESCAN_DTYPE_INT 0
#define TILESCAN_DTYPE_UINT 1
#define TILESCAN_DTYPE_FLOAT 2
#define TILESCAN_DTYPE_BFLOAT 4
#define TILESCAN_DTYPE_BOOL 6

#define TILESCAN_MAX_NDIM 5

/* A strided view of memory the caller owns. All zero: the operand is absent.
 * When planning, data may be NULL: memory is not touched. When running, data may be NULL only if
 * the view has no element. Memory must be aligned to its element. A plan for a GPU may rely on what
 * it was shown: where data was NULL or a multiple of 16 bytes, it must be one when running. */
typedef struct tilescan_tensor {
  void* data; /* address of the element at index (0, 0, ...) */
  tilescan_dtype dtype;
  int32_t ndim;
  int64_t shape[TILESCAN_MAX_NDIM];
  int64_t strides[TILESCAN_MAX_NDIM]; /* in elements; any value for inputs, 0 and negative too */
} tilescan_tensor;

static inline tilescan_dtype tilescan_make_dtype(int code, int bits) {
  tilescan_dtype dtype;
  dtype.code = (uint8_t)code;
  dtype.bits = (uint8_t)bits;
  dtype.lanes = 1;
  return dtype;
}
static inline tilescan_dtype tilescan_float64(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_FLOAT, 64);
}
static inline tilescan_dtype tilescan_float32(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_FLOAT, 32);
}
static inline tilescan_dtype tilescan_float16(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_FLOAT, 16);
}
static inline tilescan_dtype tilescan_bfloat16(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_BFLOAT, 16);
}
static inline tilescan_dtype tilescan_int32(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_INT, 32);
}
static inline tilescan_dtype tilescan_int64(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_INT, 64);
}
static inline tilescan_dtype tilescan_uint8(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_UINT, 8);
}
static inline tilescan_dtype tilescan_bool(void) {
  return tilescan_make_dtype(TILESCAN_DTYPE_BOOL, 8);
}

/* A view of a compact row-major array. ndim in 0..TILESCAN_MAX_NDIM (not checked here: planning
 * reports a bad one). */
static inline tilescan_tensor tilescan_contiguous(void* data, tilescan_dtype dtype, int32_t ndim,
                                                  const int64_t* shape) {
  tilescan_tensor tensor;
  int64_t stride = 1;
  int32_t dim;
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.ndim = ndim;
  for (dim = 0; dim < TILESCAN_MAX_NDIM; ++dim) tensor.shape[dim] = tensor.strides[dim] = 0;
  for (dim = (ndim < TILESCAN_MAX_NDIM ? ndim : TILESCAN_MAX_NDIM) - 1; dim >= 0; --dim) {
    tensor.shape[dim] = shape[dim];
    tensor.strides[dim] = stride;
    /* Unsigned: a shape whose product overflows is for planning to report. */
    stride = (int64_t)((uint64_t)stride * (uint64_t)(shape[dim] > 0 ? shape[dim] : 1));
  }
  return tensor;
}

#ifdef __cplusplus
}
#endif

#endif /* TILESCAN_TYPES_H_ */
