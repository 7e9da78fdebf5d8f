/* Progress threads that the client runs, if the library has some: messages and transfers before and after the query. Contract:
 * ex-core.md sections 16, 19. */
#include "testtraffic.h"
#include <gasnet_tools.h>
#if !GASNET_SEQ
#include <pthread.h>
#endif

/* Messages and transfers from and to everybody. */
static void everything(void) {
  gex_Rank_t i, *ranks = (gex_Rank_t *)malloc(nodes * sizeof *ranks);
  for (i = 0; i < nodes; i++) ranks[i] = i;
  traffic_clear();
  BARRIER();
  traffic(tm, nodes, ranks);
  BARRIER();
  traffic_landed(nodes, ranks);
  BARRIER();
  free(ranks);
}
static void refused(int code) { CHECK(code == GASNET_ERR_BAD_ARG); }

int main(int argc, char **argv) {
  const gex_ProgressThreadInfo_t *threads = NULL;
  unsigned count = 77, i;
#if GASNET_RCV_THREAD
  gasnett_setenv("GASNET_RCV_THREAD", "1");
#endif
#if GASNET_SND_THREAD
  gasnett_setenv("GASNET_SND_THREAD", "1");
#endif
  MUST(gex_Client_Init(&client, &ep, &tm, "testprogthr", &argc, &argv, GEX_FLAG_DEFER_THREADS));
  me = gex_TM_QueryRank(tm), nodes = gex_TM_QuerySize(tm);
  if (me == 0) printf("Running testprogthr on %u processes\n", (unsigned)nodes), fflush(stdout);
  MUST(gex_EP_RegisterHandlers(ep, traffic_table, COUNT_OF(traffic_table)));
  make_areas((size_t)nodes * TRAFFIC_SLOT);
  everything();
  gex_System_SetVerboseErrors(0);
  refused(gex_System_QueryProgressThreads(GEX_CLIENT_INVALID, &count, &threads, 0));
  refused(gex_System_QueryProgressThreads(client, NULL, &threads, 0));
  refused(gex_System_QueryProgressThreads(client, &count, NULL, 0));
  refused(gex_System_QueryProgressThreads(client, &count, &threads, 1));
  CHECK(count == 77 && threads == NULL);
  gex_System_SetVerboseErrors(1);
  MUST(gex_System_QueryProgressThreads(client, &count, &threads, 0));
  if (me == 0) say("%u threads", count);
  CHECK(count == 0 || threads != NULL);
  for (i = 0; i < count; i++) {
#if GASNET_SEQ
    say("ERROR: a progress thread in GASNET_SEQ");
#else
    pthread_t thread;
    CHECK((threads[i].gex_thread_roles & (GEX_THREAD_ROLE_RCV | GEX_THREAD_ROLE_SND)) != 0);
    CHECK(pthread_create(&thread, NULL, threads[i].gex_progress_fn, threads[i].gex_progress_arg) == 0);
    CHECK(pthread_detach(thread) == 0);
#endif
  }
  CHECK(gex_System_QueryHiddenAMConcurrencyLevel() == 0 || count > 0 || GASNET_HIDDEN_AM_CONCURRENCY_LEVEL > 0);
  everything();
  return end();
}
