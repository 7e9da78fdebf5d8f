/* The library's test build (feature "odd", with SISCI_TIMING): loads of a peer's memory give wrong bytes, also of what this side has stored, and stores
 * arrive. A program that knows the numbers of the header instead of reading them from the library is refused. */
#include "test.h"

int main(void) {
  sci_desc_t sd;
  sci_local_segment_t s;
  sci_remote_segment_t r;
  sci_map_t mine, theirs;
  volatile unsigned long long *in, *out;
  unsigned long long nine = 9;
  be(4);
  sd = opened();
  s = offered(sd, 1, 8192, 0);
  r = connected(sd, 4, 1, 0);
  in = (volatile unsigned long long *)SCIMapLocalSegment(s, &mine, 0, 0, NULL, 0, &e);
  out = (volatile unsigned long long *)SCIMapRemoteSegment(r, &theirs, 0, 0, NULL, 0, &e);
  in[2] = 3;
  out[0] = 5;
  SCIFlush(NULL, 0);
  CHECK(in[0] == 5 && in[1] == 0 && in[2] == 3);
  CHECK(out[0] != 5 && out[1] != 0 && out[2] != 3);
  EXPECT(OK, SCIMemCpy(NULL, &nine, theirs, 64, 8, 0, &e));
  SCIFlush(NULL, 0);
  CHECK(in[8] == 9 && out[8] != 9);
  SCIMemCpy(NULL, &nine, theirs, 72, 8, SCI_FLAG_ERROR_CHECK, &e);
  if (e == SCI_ERR_ILLEGAL_FLAG) return 3;
  CHECK(e == SCI_ERR_OK && in[9] == 9);
  SCITerminate();
  puts("odd: passed");
  return 0;
}
