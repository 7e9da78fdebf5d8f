/* What the programs of `gasnet-sci bench --layers` have in common. Each carries bytes between two processes by one way that programs use: TCP,
 * MPI, PVM. A program says how in a layer_t, and calls layer_measure in both processes.
 *
 * Process 0 prints a line for each size and round: "trip BYTES NS", half a round trip, and "exchange BYTES NS", both sending at once. */
#ifndef DECK_LAYER_H
#define DECK_LAYER_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAYER_MOST ((size_t)1 << 20) /* bytes of the longest message */
#define LAYER_SIZES 21               /* powers of two up to there */
#define LAYER_SECONDS 300            /* the most that a run takes: a process whose peer has gone ends by then */

typedef struct {
  int me; /* 0 or 1 */
  /* Each returns when the buffer may be used again, or is full. */
  void (*send)(const char *from, size_t bytes);
  void (*receive)(char *to, size_t bytes);
  void (*exchange)(const char *from, char *to, size_t bytes);
} layer_t;

static char layer_out[LAYER_MOST], layer_in[LAYER_MOST];

static inline double layer_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The process stays on this CPU. */
static inline void layer_pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) perror("sched_setaffinity");
}

static inline void layer_fail(const char *what) {
  fprintf(stderr, "layer: %s\n", what);
  exit(1);
}

/* Looks at each line of what has come: a layer that lets the receiver have the sender's memory would else move nothing. */
static inline void layer_read(size_t bytes) {
  const volatile char *at = layer_in;
  size_t i;
  for (i = 0; i < bytes; i += 64) (void)at[i];
}

/* Nanoseconds of one of `n`. */
static inline double layer_batch(const layer_t *layer, int exchanges, size_t bytes, int64_t n) {
  const double start = layer_now();
  int64_t i;
  for (i = 0; i < n; i++) {
    if (exchanges) {
      layer->exchange(layer_out, layer_in, bytes);
      layer_read(bytes);
    } else if (layer->me == 0) {
      layer->send(layer_out, bytes);
      layer->receive(layer_in, bytes);
      layer_read(bytes);
    } else {
      layer->receive(layer_in, bytes);
      layer_read(bytes);
      layer->send(layer_out, bytes);
    }
  }
  return (layer_now() - start) / (double)n;
}

/* The same, and what has come is what was sent. The process whose clock counts says how many. */
static inline double layer_checked(const layer_t *layer, int exchanges, size_t bytes, int64_t n) {
  double took;
  size_t i;
  memset(layer_in, 0, bytes);
  memset(layer_out, 17 + layer->me, bytes);
  if (layer->me == 0)
    layer->send((const char *)&n, sizeof n);
  else
    layer->receive((char *)&n, sizeof n);
  took = layer_batch(layer, exchanges, bytes, n);
  for (i = 0; i < bytes; i++)
    if (layer_in[i] != 18 - layer->me) layer_fail("bytes are not those that were sent");
  return took;
}

/* `rounds` of all sizes, each with batches of `budget` nanoseconds. */
static inline void layer_measure(const layer_t *layer, int rounds, double budget) {
  int64_t counts[LAYER_SIZES][2];
  int round, size, exchanges;
  alarm(LAYER_SECONDS);
  for (round = -1; round < rounds; round++)
    for (size = 0; size < LAYER_SIZES; size++)
      for (exchanges = 0; exchanges < 2; exchanges++) {
        /* The first round touches all that the others use, and finds how many fit into a batch. */
        const int64_t n = round < 0 ? 4 : counts[size][exchanges];
        const double took = layer_checked(layer, exchanges, (size_t)1 << size, n);
        if (round < 0)
          counts[size][exchanges] = took * 4 < budget ? (int64_t)(budget / took) : 4;
        else if (layer->me == 0)
          printf("%s %zu %.2f\n", exchanges ? "exchange" : "trip", (size_t)1 << size, exchanges ? took : took / 2);
      }
}

/* The arguments: ROUNDS NANOSECONDS CPU0 CPU1. */
typedef struct {
  int rounds, cpus[2];
  double budget;
} layer_task_t;

static inline layer_task_t layer_task(char **arguments) {
  layer_task_t task;
  int i;
  for (i = 0; i < 4; i++)
    if (arguments[i] == NULL) layer_fail("usage: ROUNDS NANOSECONDS CPU0 CPU1");
  task.rounds = atoi(arguments[0]);
  task.budget = atof(arguments[1]);
  task.cpus[0] = atoi(arguments[2]);
  task.cpus[1] = atoi(arguments[3]);
  return task;
}

#endif
