/* One decoding step of one head: state = exp(dt A) state + dt x B, out = state . C. */
#include <stdio.h>
#include <tilescan/tilescan.h>

int main(void) {
  float state[2] = {0, 0}, x = 2, dt = 0.5f, A = -1, B[2] = {1, 3}, C[2] = {1, 1}, out = 0;
  const int64_t ones[4] = {1, 1, 1, 2};
  const tilescan_dtype fp32 = tilescan_float32();
  tilescan_plan* plan = NULL;
  static char workspace[1 << 20];
  tilescan_state_update_args args;
  tilescan_state_update_args_init(&args);
  args.state = tilescan_contiguous(state, fp32, 4, ones);
  args.x = tilescan_contiguous(&x, fp32, 3, ones);
  args.dt = tilescan_contiguous(&dt, fp32, 2, ones);
  args.A = tilescan_contiguous(&A, fp32, 1, ones);
  args.B = tilescan_contiguous(B, fp32, 3, ones + 1);
  args.C = tilescan_contiguous(C, fp32, 3, ones + 1);
  args.out = tilescan_contiguous(&out, fp32, 3, ones);
  if (tilescan_plan_state_update(&args, NULL, &plan) != TILESCAN_OK ||
      tilescan_run_state_update(plan, &args, workspace, sizeof(workspace), NULL) != TILESCAN_OK) {
    fprintf(stderr, "%s\n", tilescan_last_error());
    return 1;
  }
  tilescan_plan_destroy(plan);
  printf("tilescan %s: out = %g, expected 4\n", tilescan_version(), (double)out);
  return out == 4.0f ? 0 : 1;
}
