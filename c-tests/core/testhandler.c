/* gasnet_handler.h in C: see testhandler.h. Handlers have external linkage, as the header has it. */
#include "testhandler.h"

/* The declarations that another file would have of the functions above. */
SHORT_HANDLER_DECL(ask_h, 2, 3);
MEDIUM_HANDLER_DECL(ask_medium_h, 1, 2);
LONG_HANDLER_DECL(ask_long_h, 2, 3);

int main(int argc, char **argv) {
  handler_run(argc, argv, "testhandler");
  return 0;
}
