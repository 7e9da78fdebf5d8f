"use strict";
// What a node did in a span of time.
const Sums = (function () {
  const { begin, ns, bytes, kind, classOf, timed, origin } = Data;
  const SEND = timed;
  const HANDLER = timed + 1;

  // Time of each class, and what is in no call; messages; operations by kind. Calls are cut at the ends of the span.
  function of(node, from, to) {
    const sums = { time: new Float64Array(timed), busy: 0, sends: 0, sent: 0, runs: 0, received: 0, counts: new Map(), ended: new Map() };
    let until = from;
    const last = Data.after(node, to);
    for (let event = Data.since(node, from); event < last; event++) {
      const end = begin[event] + ns[event];
      if (end < from) continue;
      const what = classOf[kind[event]];
      const begun = begin[event] >= from; // counts belong where the operation begins
      if (what < timed) {
        const length = Math.min(end, to) - Math.max(begin[event], from);
        sums.time[what] += length;
        sums.busy += Math.max(0, Math.min(end, to) - Math.max(begin[event], until));
        until = Math.max(until, end);
        if (what === WAIT && begun) ending(sums, event, last);
      }
      if (!begun) continue;
      const counted = sums.counts.get(kind[event]) || { count: 0, bytes: 0, ns: 0 };
      counted.count++;
      counted.bytes += bytes[event];
      counted.ns += ns[event];
      sums.counts.set(kind[event], counted);
      if (what === SEND) (sums.sends++, (sums.sent += bytes[event]));
      if (what === HANDLER) (sums.runs++, (sums.received += bytes[event]));
    }
    sums.computing = Math.max(0, to - from - sums.busy);
    return sums;
  }

  // A wait for messages ends when a handler begins: the sender of that message ended it. Of the wait, the time before the message was sent
  // is the sender's, and the rest is the message's way, or that of the node until it looked.
  const WAIT = Data.all.indexOf("messages");
  function ending(sums, wait, last) {
    const end = begin[wait] + ns[wait];
    for (let event = wait + 1; event < last && begin[event] <= end; event++) {
      if (begin[event] !== end || classOf[kind[event]] !== HANDLER) continue;
      if (origin[event] < 0) return;
      const sent = Math.min(Math.max(begin[origin[event]], begin[wait]), end);
      const sum = sums.ended.get(Data.peer[event]) || { unsent: 0, way: 0 };
      sum.unsent += sent - begin[wait];
      sum.way += end - sent;
      sums.ended.set(Data.peer[event], sum);
      return;
    }
  }

  return { of };
})();
