/* A server that answers data interrupts, and a client that asks. The client says which interrupt gets the answer.
 *
 *   SISCI_NODE_ID=4 ./server 3 &  for n in 8 12 16; do SISCI_NODE_ID=$n ./server ask 4 "hello from $n"; done */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sisci_api.h"

#define CHECK(what)                                                              \
  do {                                                                           \
    if (error != SCI_ERR_OK) {                                                   \
      fprintf(stderr, "%s: %s\n", what, SCIGetErrorString(error));               \
      exit(1);                                                                   \
    }                                                                            \
  } while (0)

enum { SERVICE = 7 };

struct request {
  unsigned node, interrupt;
  char text[80];
};

static sci_desc_t sd;

static void answer(struct request *request) {
  sci_error_t error;
  sci_remote_data_interrupt_t client;
  char *c;
  for (c = request->text; *c != 0; c++) *c = (char)toupper((unsigned char)*c);
  SCIConnectDataInterrupt(sd, &client, request->node, 0, request->interrupt, SCI_INFINITE_TIMEOUT, 0, &error);
  CHECK("SCIConnectDataInterrupt");
  SCITriggerDataInterrupt(client, request->text, (unsigned)strlen(request->text) + 1, 0, &error);
  CHECK("SCITriggerDataInterrupt");
  SCIDisconnectDataInterrupt(client, 0, &error);
  CHECK("SCIDisconnectDataInterrupt");
}

static int serve(int requests) {
  sci_error_t error;
  sci_local_data_interrupt_t service;
  unsigned number = SERVICE, length;
  struct request request;
  SCICreateDataInterrupt(sd, &service, 0, &number, NULL, NULL, SCI_FLAG_FIXED_INTNO, &error);
  CHECK("SCICreateDataInterrupt");
  while (requests-- > 0) {
    length = sizeof request;
    SCIWaitForDataInterrupt(service, &request, &length, SCI_INFINITE_TIMEOUT, 0, &error);
    CHECK("SCIWaitForDataInterrupt");
    answer(&request);
  }
  SCIRemoveDataInterrupt(service, 0, &error);
  return 0;
}

static int ask(unsigned node, const char *text) {
  sci_error_t error;
  sci_local_data_interrupt_t mine;
  sci_remote_data_interrupt_t service;
  struct request request;
  char reply[80];
  unsigned length = sizeof reply;
  memset(&request, 0, sizeof request);
  strncpy(request.text, text, sizeof request.text - 1);
  SCIGetLocalNodeId(0, &request.node, 0, &error);
  CHECK("SCIGetLocalNodeId");
  SCICreateDataInterrupt(sd, &mine, 0, &request.interrupt, NULL, NULL, 0, &error);
  CHECK("SCICreateDataInterrupt");
  do {
    SCIConnectDataInterrupt(sd, &service, node, 0, SERVICE, SCI_INFINITE_TIMEOUT, 0, &error);
  } while (error == SCI_ERR_NO_SUCH_INTNO);
  CHECK("SCIConnectDataInterrupt");
  SCITriggerDataInterrupt(service, &request, sizeof request, 0, &error);
  CHECK("SCITriggerDataInterrupt");
  SCIWaitForDataInterrupt(mine, reply, &length, SCI_INFINITE_TIMEOUT, 0, &error);
  CHECK("SCIWaitForDataInterrupt");
  puts(reply);
  return 0;
}

int main(int argc, char **argv) {
  sci_error_t error;
  int status = 2;
  SCIInitialize(0, &error);
  CHECK("SCIInitialize");
  SCIOpen(&sd, 0, &error);
  CHECK("SCIOpen");
  if (argc == 2) status = serve(atoi(argv[1]));
  else if (argc == 4 && strcmp(argv[1], "ask") == 0) status = ask((unsigned)atoi(argv[2]), argv[3]);
  else fprintf(stderr, "usage: server REQUESTS | server ask NODE TEXT\n");
  SCITerminate();
  return status;
}
