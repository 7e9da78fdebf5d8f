/* halo: each node has a strip of a row. Before each step it puts its outermost cells into
 * its neighbours' strips. */
#include <gasnetex.h>
#include <gasnet_coll.h>
#include <stdio.h>

enum { CELLS = 100, STEPS = 50 };
/* What lies in each node's segment; two of each border, for even and odd steps. */
typedef struct {
  double left[2], right[2];
} halo_t;

int main(int argc, char **argv) {
  gex_Client_t client;
  gex_EP_t endpoint;
  gex_TM_t all;
  gex_Segment_t segment;
  if (gex_Client_Init(&client, &endpoint, &all, "HALO", &argc, &argv, 0) != GASNET_OK)
    return 1;
  if (gex_Segment_Attach(&segment, all, GASNET_PAGESIZE) != GASNET_OK) gasnet_exit(1);
  gex_Rank_t me = gex_TM_QueryRank(all), nodes = gex_TM_QuerySize(all);
  gex_Rank_t to_left = (me + nodes - 1) % nodes, to_right = (me + 1) % nodes;
  volatile halo_t *mine = (halo_t *)gex_Segment_QueryAddr(segment);
  void *at_left, *at_right; /* the neighbours' segments, at addresses of theirs */
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, to_left, &at_left, NULL, NULL, 0));
  gex_Event_Wait(gex_EP_QueryBoundSegmentNB(all, to_right, &at_right, NULL, NULL, 0));

  double cells[CELLS], next[CELLS], sum = 0, total = 0;
  for (int i = 0; i < CELLS; i++)
    cells[i] = me == 0 && i == 0 ? 1000 : 0; /* all heat is in one cell of the ring */
  for (int step = 0; step < STEPS; step++) {
    int now = step % 2;
    gex_RMA_PutNBI(all, to_left, &((halo_t *)at_left)->right[now], &cells[0],
                   sizeof(double), GEX_EVENT_DEFER, 0);
    gex_RMA_PutNBI(all, to_right, &((halo_t *)at_right)->left[now], &cells[CELLS - 1],
                   sizeof(double), GEX_EVENT_DEFER, 0);
    gex_NBI_Wait(GEX_EC_PUT, 0);                /* mine are in place, */
    gex_Event_Wait(gex_Coll_BarrierNB(all, 0)); /* and so are everybody's */
    for (int i = 0; i < CELLS; i++) {
      double left = i > 0 ? cells[i - 1] : mine->left[now],
             right = i < CELLS - 1 ? cells[i + 1] : mine->right[now];
      next[i] = (left + 2 * cells[i] + right) / 4;
    }
    for (int i = 0; i < CELLS; i++) cells[i] = next[i];
  }
  for (int i = 0; i < CELLS; i++) sum += cells[i];
  gex_Event_Wait(gex_Coll_ReduceToAllNB(all, &total, &sum, GEX_DT_DBL, sizeof total, 1,
                                        GEX_OP_ADD, NULL, NULL, 0));
  int right = total > 999.999999 && total < 1000.000001 &&
              (nodes == 1 || (me == nodes - 1) == (sum > 100 && me > 0));
  printf("halo: node %u: %.3f of %.3f after %d steps: %s\n", me, sum, total, STEPS,
         right ? "right" : "WRONG");
  gex_Event_Wait(gex_Coll_BarrierNB(all, 0));
  gasnet_exit(!right);
}
