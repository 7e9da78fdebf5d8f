#include <gasnet.h>
#include <gasnet_tools.h>
int error = 1, debug = 2, status = 3, log_error = 4;
int log_init(void);
int log_init(void) { return error + debug + status + log_error; }
uint64_t gasnet_max_segsize = 1 << 21;
const char *gasnet_max_segsize_str = "1M/P";
static int traces;
static int own_backtrace(int fd) { return traces++, fd != 2; }
gasnett_backtrace_type_t gasnett_backtrace_user = {"OWN", own_backtrace, 0};
int main(int argc, char **argv) {
  gasnett_setenv("GASNET_BACKTRACE_TYPE", "own");
  if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_getMaxLocalSegmentSize() != 1 << 20) return 1;
  if (gasnett_print_backtrace(2) != 0 || traces != 1) return 3;
  gasnet_exit(log_init() == 10 ? 0 : 2);
}
