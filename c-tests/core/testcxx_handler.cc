// gasnet_handler.h in C++: see testhandler.h. Handlers are this file's own.
#define GASNETI_HANDLER_SCOPE static
#include "testhandler.h"

int main(int argc, char **argv) {
  handler_run(argc, argv, "testcxx_handler");
  return 0;
}
