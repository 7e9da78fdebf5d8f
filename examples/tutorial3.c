/* tutorial3: heat spreads on a ring. Each node has a strip of it, and in each step puts
 * its outermost cells into its neighbours' memory. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 100, STEPS = 50 };
/* What neighbours put into a node's segment. There are two of each, for even and odd
 * steps: a neighbour may be a step ahead. */
typedef struct {
  double left[2], right[2];
} halo_t;

/* The whole ring, computed by one node alone: is my strip the same? */
static int same(const double *cells, int me, int nodes) {
  int n = nodes * CELLS, equal = 1;
  double *ring = calloc(2 * (size_t)n, sizeof *ring), *next = ring + n;
  ring[0] = 1000;
  for (int step = 0; step < STEPS; step++) {
    for (int i = 0; i < n; i++)
      next[i] = (ring[(i + n - 1) % n] + 2 * ring[i] + ring[(i + 1) % n]) / 4;
    for (int i = 0; i < n; i++) ring[i] = next[i];
  }
  for (int i = 0; i < CELLS; i++) equal &= ring[me * CELLS + i] == cells[i];
  free(ring);
  return equal;
}

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  gex_Segment_t segment;
  if (gex_Client_Init(&client, &endpoint, &all, "TUTORIAL", &argc, &argv, 0) != GASNET_OK)
    return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) gasnet_exit(1);
  gex_Rank_t me = gex_TM_QueryRank(all), nodes = gex_TM_QuerySize(all);
  gex_Rank_t to_left = (me + nodes - 1) % nodes, to_right = (me + 1) % nodes;
  volatile halo_t *mine = (halo_t *)gex_Segment_QueryAddr(segment);
  void *at_left, *at_right;
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, to_left, &at_left, NULL, NULL, 0));
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, to_right, &at_right, NULL, NULL, 0));

  double cells[CELLS] = {0}, next[CELLS];
  if (me == 0) cells[0] = 1000;
  for (int step = 0; step < STEPS; step++) {
    int now = step % 2;
    gex_RMA_PutBlocking(all, to_left, &((halo_t *)at_left)->right[now], &cells[0],
                        sizeof(double), 0);
    gex_RMA_PutBlocking(all, to_right, &((halo_t *)at_right)->left[now],
                        &cells[CELLS - 1], sizeof(double), 0);
    gex_Event_Wait(gex_Coll_BarrierNB(all, 0)); /* what neighbours put is here */
    for (int i = 0; i < CELLS; i++)
      next[i] = ((i > 0 ? cells[i - 1] : mine->left[now]) + 2 * cells[i] +
                 (i < CELLS - 1 ? cells[i + 1] : mine->right[now])) / 4;
    for (int i = 0; i < CELLS; i++) cells[i] = next[i];
  }

  int right = same(cells, (int)me, (int)nodes);
  printf("tutorial3: node %u of %u: the first cell is %.3f: %s\n", me, nodes, cells[0],
         right ? "right" : "WRONG");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(!right);
}
