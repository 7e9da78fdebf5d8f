/* What the programs about Active Messages share: memory of every process that Longs and transfers may reach in all segment
 * modes, made the way that conformance harnesses make it. Contract: ex-core.md section 19. */
#ifndef TESTEXAM_H
#define TESTEXAM_H
#include "testex.h"

static unsigned char **area; /* of each process, in its owner */
static size_t area_bytes;

/* One row of a handler table. */
#define ROW(index, fn, category, direction, nargs, cdata)                                                            \
  { (gex_AM_Index_t)(index), (gex_AM_Fn_t)fn, GEX_FLAG_AM_##category | GEX_FLAG_AM_##direction, nargs, cdata, #fn }
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

#if GASNET_SEGMENT_EVERYTHING
static volatile unsigned areas_known;
static void testexam_area(gex_Token_t token, void *buf, size_t n) {
  gex_Token_Info_t info;
  unsigned char *at;
  (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
  if (n == sizeof at) memcpy(&at, buf, n), area[info.gex_srcrank] = at;
  areas_known++;
}
#endif
/* Gives each process `bytes` bytes (rounded up to pages) that all may reach. Collective. In EVERYTHING mode it does not call
 * gex_Segment_Attach, but exchanges addresses by messages. */
__attribute__((__unused__)) static void make_areas(size_t bytes) {
  gex_Rank_t i;
  area_bytes = (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
  area = (unsigned char **)calloc(nodes, sizeof *area);
#if GASNET_SEGMENT_EVERYTHING
  {
    gex_AM_Entry_t row[] = {ROW(0, testexam_area, MEDIUM, REQUEST, 0, NULL)};
    unsigned char *own = (unsigned char *)calloc(1, area_bytes);
    MUST(gex_EP_RegisterHandlers(ep, row, 1));
    BARRIER();
    for (i = 0; i < nodes; i++) gex_AM_RequestMedium0(tm, i, row[0].gex_index, &own, sizeof own, GEX_EVENT_NOW, 0);
    GASNET_BLOCKUNTIL(areas_known == nodes);
  }
#else
  attach(area_bytes);
  for (i = 0; i < nodes; i++) {
    void *owner = NULL;
    uintptr_t size = 0;
    CHECK(gex_Segment_QueryBound(tm, i, &owner, NULL, &size) == 0);
    CHECK(size >= area_bytes && size % GASNET_PAGESIZE == 0);
    area[i] = (unsigned char *)owner;
  }
#endif
  BARRIER();
}

/* A byte of the payload with number `seed`. */
static unsigned char testexam_byte(unsigned seed, size_t i) { return (unsigned char)(seed * 37u + (unsigned)i * 5u + (unsigned)(i >> 8)); }
__attribute__((__unused__)) static void fill(void *at, unsigned seed, size_t n) {
  size_t i;
  for (i = 0; i < n; i++) ((unsigned char *)at)[i] = testexam_byte(seed, i);
}
/* Whether the bytes are those of `fill`. */
__attribute__((__unused__)) static int filled(const void *at, unsigned seed, size_t n) {
  size_t i;
  for (i = 0; i < n; i++)
    if (((const unsigned char *)at)[i] != testexam_byte(seed, i)) return 0;
  return 1;
}
/* Random numbers of one thread. */
__attribute__((__unused__)) static unsigned rnd(unsigned *state, unsigned below) {
  *state = *state * 1664525u + 1013904223u;
  return (*state >> 8) % below;
}
/* Repeats a call with GEX_FLAG_IMMEDIATE until it takes the message. */
#define UNTIL(call)                                                                                                  \
  while ((call) != 0) gasnet_AMPoll()
#endif
