// The two ways in which threads share a forward scan.
#ifndef TILESCAN_CPU_SCAN_FORWARD_H_
#define TILESCAN_CPU_SCAN_FORWARD_H_

#include "cpu/scan_cut.h"

namespace tilescan::cpu {

void ScanByHeads(const ScanSetup& setup, void* workspace);
void ScanByChunks(const ScanSetup& setup, void* workspace);

}  // namespace tilescan::cpu

#endif  // TILESCAN_CPU_SCAN_FORWARD_H_
