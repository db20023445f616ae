// A scan of two tokens, of one head with one channel and a state of one element:
// state_t = exp(dt_t A) state_{t-1} + dt_t x_t B_t, out_t = state_t C_t.
#include <cmath>
#include <cstdio>
#include <tilescan/tilescan.hpp>

int main() {
  const float x[] = {1, 2}, dt[] = {0.5f, 1}, A[] = {-1}, B[] = {1, 1}, C[] = {1, 1};
  float out[2];
  tilescan::ScanForwardArgs args;
  args.x = tilescan::MakeTensor(x, {1, 2, 1, 1});
  args.dt = tilescan::MakeTensor(dt, {1, 2, 1});
  args.A = tilescan::MakeTensor(A, {1});
  args.B = tilescan::MakeTensor(B, {1, 2, 1, 1});
  args.C = tilescan::MakeTensor(C, {1, 2, 1, 1});
  args.out = tilescan::MakeTensor(out, {1, 2, 1, 1});
  tilescan::RunOnce(args);
  const float expected = 0.5f * std::exp(-1.0f) + 2.0f;
  std::printf("out = %g %g, expected 0.5 %g\n", out[0], out[1], expected);
  // Two roundings of fp32.
  return out[0] == 0.5f && std::fabs(out[1] - expected) < 1e-6f ? 0 : 1;
}
