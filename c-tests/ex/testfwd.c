/* gasnet_fwd.h alone: with -DFWD_ONLY before anything else and without a thread mode (cargo xtask headers compiles it so in every
 * dialect); as a program before gasnetex.h, whose types must be the same. Contract: ex-core.md sections 1, 3; ex-coll.md section 2. */
#include <gasnet_fwd.h>
#if defined(GASNET_SEQ) && defined(FWD_ONLY)
#error "compiled without a thread mode"
#endif
#if defined(_GASNETEX_H) || defined(GASNET_OK) || defined(_STDIO_H)
#error "more than constants and scalar types"
#endif

/* ---- in #if ---- */
#if GEX_DT_I32 != 1 << 0 || GEX_DT_U32 != 1 << 1 || GEX_DT_I64 != 1 << 2 || GEX_DT_U64 != 1 << 3 || GEX_DT_FLT != 1 << 4 || \
    GEX_DT_DBL != 1 << 5 || GEX_DT_USER != 1 << 6
#error "data types"
#endif
#if GEX_OP_AND != 1 << 0 || GEX_OP_ADD != 1 << 3 || GEX_OP_CAS != 1 << 11 || GEX_OP_FADD != 1 << 18 || GEX_OP_GET != 1 << 27 || \
    GEX_OP_USER != 1 << 30 || GEX_OP_USER_NC != 1U << 31 || GEX_OP_CSWAP != GEX_OP_FCAS
#error "operations"
#endif
#if GEX_OP_TO_FETCHING(GEX_OP_SET) != GEX_OP_SWAP || GEX_OP_TO_FETCHING(GEX_OP_CAS) != GEX_OP_FCAS || \
    GEX_OP_TO_NONFETCHING(GEX_OP_FXOR) != GEX_OP_XOR || GEX_OP_TO_NONFETCHING(GEX_OP_GET) != 1 << 12
#error "twins"
#endif
#if (GEX_FLAG_IMMEDIATE | GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ | GEX_FLAG_AD_MY_RANK | GEX_FLAG_AD_MY_NBRHD | \
     GEX_FLAG_RANK_IS_JOBRANK | GEX_FLAG_PEER_SEG_OFFSET) !=                                               \
    (GEX_FLAG_IMMEDIATE + GEX_FLAG_AD_REL + GEX_FLAG_AD_ACQ + GEX_FLAG_AD_MY_RANK + GEX_FLAG_AD_MY_NBRHD + \
     GEX_FLAG_RANK_IS_JOBRANK + GEX_FLAG_PEER_SEG_OFFSET)
#error "flags of an atomic share bits"
#endif
#if GEX_EP_CAPABILITY_ALL != 31 || GEX_EP_CAPABILITY_RMA != 1
#error "capabilities"
#endif

/* ---- as initialisers ---- */
static gex_Event_t none = GEX_EVENT_INVALID, refused = GEX_EVENT_NO_OP;
static gex_Event_t *whens[3] = {GEX_EVENT_NOW, GEX_EVENT_DEFER, GEX_EVENT_GROUP};
static const gex_Rank_t invalid = GEX_RANK_INVALID;
static gex_EP_Location_t place = {5, 0};
static gex_Addr_t address = 0;
typedef char sizes[sizeof(gex_Rank_t) == 4 && sizeof(gex_EP_Index_t) == 2 && sizeof(gex_Flags_t) == 4 && sizeof(gex_OP_t) == 4 &&
                           sizeof(gex_DT_t) == 4 && sizeof(gex_EP_Capabilities_t) == 4 && sizeof(gex_Event_t) == sizeof(uintptr_t)
                       ? 1
                       : -1];

#if defined(FWD_ONLY)
extern int all_used(sizes s);
int all_used(sizes s) {
  return s[0] + (none == refused) + (whens[0] == whens[1]) + (invalid == place.gex_rank) + (address != 0);
}
#else
#include "testex.h"

int main(int argc, char **argv) {
  sizes s = {0};
  begin("testfwd", &argc, &argv);
  (void)s;
  CHECK(none == 0 && refused != none && (uintptr_t)refused == 1);
  CHECK((uintptr_t)whens[0] == 1 && (uintptr_t)whens[1] == 2 && (uintptr_t)whens[2] == 3);
  CHECK(invalid > nodes && invalid == ~(gex_Rank_t)0);
  CHECK(place.gex_rank == 5 && place.gex_ep_index == 0 && address == NULL);
  CHECK(GEX_EVENT_INVALID == none && GEX_RANK_INVALID == invalid);
  return end();
}
#endif
