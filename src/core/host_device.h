// Marks what both the host and kernels on a GPU call; nothing where no GPU compiler is at work.
#ifndef TILESCAN_CORE_HOST_DEVICE_H_
#define TILESCAN_CORE_HOST_DEVICE_H_

#ifdef __CUDACC__
#define TILESCAN_HOST_DEVICE __host__ __device__
#else
#define TILESCAN_HOST_DEVICE
#endif

#endif  // TILESCAN_CORE_HOST_DEVICE_H_
