# Writes traces of a run that never was, with a known end: `awk -v nodes=4 -v rounds=100 -v out=trace. -f ci/trace-made.awk` makes
# files trace.0 to trace.3. In each round every node computes, puts something into the next node, sends it a message, waits for the
# message of the node before and for the reply to its own; every eighth round ends with a barrier, before which node `late`
# computes ten times as long as the others, and 20 µs more. A node writes about 7 lines a round.

function line(node, when, text) { printf "%d %d.%09d> %s\n", node, when / 1e9, when % 1e9, text > (out node) }

# Numbers that look random, the same in each run.
function chance(most) { seed = (seed * 16807) % 2147483647; return seed % most }

BEGIN {
  seed = 1
  for (n = 0; n < nodes; n++) {
    line(n, 0, "(U) trace node=" n " nodes=" nodes " clock=" (1000000000 + 100 * n) " host=made")
    now[n] = 10000 - 100 * n # the same moment for all, each by its own clock
  }
  for (round = 1; round <= rounds; round++) {
    for (n = 0; n < nodes; n++) {
      work = 1000 + chance(2000)
      now[n] += n == late && round % 8 == 0 ? 10 * work + 20000 : work
      size[n] = 64 * (1 + chance(8))
      line(n, now[n], "(A) AMREQUEST_MEDIUM node=" (n + 1) % nodes " bytes=" size[n] " handler=200")
      sent[n] = now[n] + 100 * n
      line(n, now[n] += 300, "(P) PUT_NB_LOCAL node=" (n + 1) % nodes " bytes=4096")
      line(n, now[n] += 700, "(S) WAIT_SYNCNB us=0.6")
    }
    for (n = 0; n < nodes; n++) {
      from = (n + nodes - 1) % nodes
      await(n, sent[from] + 900)
      line(n, now[n], "(A) AMREQUEST_HANDLER node=" from " bytes=" size[from] " handler=200")
      line(n, now[n] += 150, "(A) AMREPLY_SHORT node=" from " handler=201")
      replied[from] = now[n] + 100 * n
    }
    for (n = 0; n < nodes; n++) {
      await(n, replied[n] + 700)
      line(n, now[n], "(A) AMREPLY_HANDLER node=" (n + 1) % nodes " bytes=0 handler=201")
    }
    if (round % 8 == 0) barrier()
  }
}

# Node `n` waits for a message that arrives at `when`, by the host's clock.
function await(n, when) {
  if (when - 100 * n <= now[n]) return
  line(n, when - 100 * n, "(A) AM_WAIT us=" (when - 100 * n - now[n]) / 1000)
  now[n] = when - 100 * n
}

function barrier() {
  last = 0
  for (n = 0; n < nodes; n++) if (now[n] + 100 * n > last) last = now[n] + 100 * n
  for (n = 0; n < nodes; n++) {
    line(n, now[n] + 200, "(B) BARRIER_NOTIFY us=0.2")
    begin = now[n] + 200
    now[n] = last + 1000 - 100 * n
    line(n, now[n], "(B) BARRIER_WAIT us=" (now[n] - begin) / 1000)
  }
}
