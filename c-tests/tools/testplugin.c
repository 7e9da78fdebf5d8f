/* A plug-in that runs a job and is unloaded: what the library leaves in the process must go on to work. testplugin.sh builds both halves.
 *
 *   testplugin PLUGIN [deep]     loads PLUGIN (deep: with RTLD_DEEPBIND), runs its job, unloads it, and ends a thread and the process
 *
 * With -DPLUGIN this file is the plug-in, without it the program, which knows nothing of GASNet. */
#ifdef PLUGIN
#define GASNET_PAR
#include <gasnet.h>

int plugin_start(void);
int plugin_poll(void);

int plugin_start(void) {
  if (gasnet_init(NULL, NULL) != GASNET_OK || gasnet_attach(NULL, 0, 0, 0) != GASNET_OK) return 1;
  gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
  return gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) != GASNET_OK;
}
/* The library keeps something of each thread that comes by. */
int plugin_poll(void) { return gasnet_AMPoll() != GASNET_OK; }

#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static int stage; /* 1: the thread has been in the plug-in; 2: the plug-in is unloaded */

static void go_to(int next) {
  pthread_mutex_lock(&gate);
  stage = next;
  pthread_cond_broadcast(&moved);
  pthread_mutex_unlock(&gate);
}
static void wait_for(int wanted) {
  pthread_mutex_lock(&gate);
  while (stage < wanted) pthread_cond_wait(&moved, &gate);
  pthread_mutex_unlock(&gate);
}

static int (*start)(void), (*poll_once)(void);

static void *visit(void *unused) {
  if (poll_once()) exit(3);
  go_to(1);
  wait_for(2);
  return unused; /* what the library keeps of this thread is cleared now */
}

static void function(void *plugin, const char *name, int (**found)(void)) {
  void *address = dlsym(plugin, name);
  if (!address) exit(4);
  memcpy(found, &address, sizeof address);
}

int main(int argc, char **argv) {
  pthread_t thread;
  void *plugin = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL | (argc > 2 ? RTLD_DEEPBIND : 0));
  if (!plugin) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  function(plugin, "plugin_start", &start);
  function(plugin, "plugin_poll", &poll_once);
  if (start() || pthread_create(&thread, NULL, visit, NULL)) return 5;
  wait_for(1);
  if (dlclose(plugin)) return 6;
  go_to(2);
  if (pthread_join(thread, NULL)) return 7;
  puts("unloaded");
  return 0; /* what the library does at exit comes now */
}
#endif
