/* Mail boxes in the mix of testsoak, which includes this file: posts and gives of all lengths to boxes of random nodes, every byte
 * verified by the owner, who answers by an active message or into a box that came with the message. */
#include <deck.h>

#define MAIL_BATCH 6
#define MAIL_MOST 60000u
#define MAIL_PAUSE 20000 /* ns: how long an owner waits for a message before it looks for something else */

static deck_mbox_t mail_own[ACTORS], *mail_to[ACTORS];
static int mail_over, mail_rounds[ACTORS];

static void mail_must(const char *call, int rc) {
  if (rc == 0) return;
  fprintf(stderr, "testsoak: node %d: %s gives %d: %s\n", (int)me, call, rc, deck_strerror(rc));
  gasnet_exit(98);
}
#define MAIL(call) mail_must(#call, call)

static const char *mail_name(gasnet_node_t owner, int actor, char *name) {
  snprintf(name, 32, "soak %u %d", (unsigned)owner, actor);
  return name;
}

static void mail_begin(int actors_of_node) {
  const deck_mbox_attr_t small = {sizeof small, 200000, 16}; /* so that senders have to wait */
  char name[32];
  int actor;
  MAIL(deck_init(NULL, NULL));
  for (actor = 0; actor < actors_of_node; actor++) {
    MAIL(deck_mbox_create(mail_name(me, actor, name), actor % 2 ? NULL : &small, &mail_own[actor]));
    mail_to[actor] = (deck_mbox_t *)memory(nodes * sizeof(deck_mbox_t));
    memset(mail_to[actor], 0, nodes * sizeof(deck_mbox_t));
  }
}

static void mail_end(void) { MAIL(deck_done()); }

static void mail_over_h(gasnet_token_t token) {
  (void)token;
  TEST_COUNT(&mail_over);
}

/* Verifies a message, and answers. What was packed: its sender's actor, the seed, the bytes, perhaps a box for the answer. */
static void mail_came(deck_msg_t msg) {
  const gasnet_node_t from = (gasnet_node_t)deck_msg_source(msg);
  uint32_t head[4] = {0, 0, 0, 0};
  unsigned char *bytes;
  MAIL(deck_msg_unpack(msg, head, DECK_UINT32, 4));
  CHECK(head[2] <= MAIL_MOST && from < nodes, "%u bytes from node %u", (unsigned)head[2], (unsigned)from);
  if (head[2] > MAIL_MOST) return;
  bytes = (unsigned char *)memory(head[2] + 1u);
  MAIL(deck_msg_unpack(msg, bytes, DECK_BYTE, head[2]));
  same("message for a box", bytes, head[2], head[1], from);
  free(bytes);
  if (head[3]) {
    deck_mbox_t reply = NULL;
    deck_msg_t answer = NULL;
    MAIL(deck_msg_unpack_mbox(msg, &reply));
    MAIL(deck_msg_create(32, DECK_LOCAL, &answer));
    MAIL(deck_msg_pack(answer, head, DECK_UINT32, 3));
    MAIL(deck_mbox_post(reply, answer)); /* the box has room for all answers */
    MAIL(deck_msg_destroy(answer));
    MAIL(deck_mbox_destroy(reply));
  } else
    GASNET_SAFE(gasnet_AMRequestShort3(from, H_DONE, (gasnet_handlerarg_t)head[0], 0, 0));
}

/* Takes what waits in the own box, if something comes soon. */
static void mail_serve(int actor, unsigned *random) {
  deck_msg_t msg = NULL;
  int rc;
  if (below(random, 2)) rc = deck_mbox_take(mail_own[actor], &msg, MAIL_PAUSE);
  else {
    MAIL(deck_msg_create(100, DECK_AUTO, &msg));
    rc = deck_mbox_retrv_timed(mail_own[actor], msg, below(random, 2) ? 0 : MAIL_PAUSE);
  }
  if (rc == 0) mail_came(msg);
  else if (rc != DECK_ETIMEDOUT && rc != DECK_EAGAIN) mail_must("deck_mbox_take", rc);
  if (msg) MAIL(deck_msg_destroy(msg));
}

static void mail_send(int actor, unsigned *random, deck_mbox_t reply) {
  const gasnet_node_t to = below(random, nodes);
  const size_t n = below(random, 3) ? below(random, 300) : below(random, MAIL_MOST + 1);
  const int gives = below(random, 3) == 0;
  uint32_t head[4] = {0, 0, 0, 0};
  unsigned char *bytes = (unsigned char *)memory(n + 1);
  deck_msg_t msg = NULL;
  char name[32];
  int rc;
  head[0] = (uint32_t)actor, head[1] = test_random(random), head[2] = (uint32_t)n, head[3] = reply != NULL;
  if (!mail_to[actor][to]) MAIL(deck_mbox_clone(mail_name(to, actor, name), DECK_FOREVER, &mail_to[actor][to]));
  core_fill(bytes, n, head[1]);
  /* A heap that is used up has room again when others have read. */
  while ((rc = deck_msg_create(n + 100, gives ? DECK_SHARED : DECK_AUTO, &msg)) == DECK_ENOMEM) mail_serve(actor, random);
  mail_must("deck_msg_create", rc);
  MAIL(deck_msg_pack(msg, head, DECK_UINT32, 4));
  MAIL(deck_msg_pack(msg, bytes, DECK_BYTE, n));
  if (reply) MAIL(deck_msg_pack_mbox(msg, reply));
  for (;;) {
    rc = gives ? deck_mbox_give(mail_to[actor][to], &msg, MAIL_PAUSE) : deck_mbox_post_timed(mail_to[actor][to], msg, 0);
    if (rc != DECK_ETIMEDOUT && rc != DECK_EAGAIN) break;
    mail_serve(actor, random); /* the other one may wait for this box */
  }
  mail_must("deck_mbox_post", rc);
  if (msg) MAIL(deck_msg_destroy(msg));
  free(bytes);
}

/* A batch of messages and their answers. Then it serves its box until all actors of all nodes have theirs. */
static void mail(int actor, unsigned *random) {
  const int by_mail = (int)below(random, 2), wanted = AREA_LOAD(&done[actor]) + (by_mail ? 0 : MAIL_BATCH);
  deck_mbox_t reply = NULL;
  deck_msg_t answer = NULL;
  gasnet_node_t node;
  int i, heard = by_mail ? 0 : MAIL_BATCH, all;
  if (by_mail) MAIL(deck_mbox_create(NULL, NULL, &reply));
  MAIL(deck_msg_create(32, DECK_LOCAL, &answer));
  for (i = 0; i < MAIL_BATCH; i++) mail_send(actor, random, reply);
  while (heard < MAIL_BATCH || AREA_LOAD(&done[actor]) != wanted) {
    mail_serve(actor, random);
    while (by_mail && deck_mbox_retrv_timed(reply, answer, 0) == 0) heard++;
  }
  MAIL(deck_msg_destroy(answer));
  if (reply) MAIL(deck_mbox_destroy(reply));
  for (node = 0; node < nodes; node++) GASNET_SAFE(gasnet_AMRequestShort0(node, H_OVER));
  all = ++mail_rounds[actor] * (int)nodes * actors;
  while (AREA_LOAD(&mail_over) < all) mail_serve(actor, random);
}
