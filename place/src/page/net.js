"use strict";
// A machine of links that were made on the page, with the tables that Rust makes of others. It touches nothing of the page.
//
// A net is { machines: [name of each], links: [{ name, ends: [a, b], alpha, beta }] }: links go both ways, alpha is in ns per operation,
// beta in ns per byte. Link k of a net is the links 2k (there) and 2k + 1 (back) of the machine.
const Net = (function () {
  const { machine: like } = Model.answer;

  const endsOf = ({ links }, link) => (link % 2 ? [links[link >> 1].ends[1], links[link >> 1].ends[0]] : links[link >> 1].ends);

  // The last link on the best way from a machine to each; the steps and their order are those of place/src/net.rs.
  function ways(net, from) {
    const best = net.machines.map(() => [Infinity, 0]);
    const last = net.machines.map(() => null);
    best[from] = [0, 0];
    for (let found = true; found; ) {
      found = false;
      for (let link = 0; link < 2 * net.links.length; link++) {
        const [a, b] = endsOf(net, link);
        const [alpha, count] = [best[a][0] + net.links[link >> 1].alpha, best[a][1] + 1];
        if (!(alpha < best[b][0] || (alpha === best[b][0] && count < best[b][1])) || alpha === Infinity) continue;
        [best[b], last[b], found] = [[alpha, count], link, true];
      }
    }
    return last;
  }

  // The links from p to q, the first one first; null: there is no way.
  function way(net, last, p, q) {
    const links = [];
    for (let at = q; at !== p; at = endsOf(net, links[0])[0]) {
      if (last[p][at] === null) return null;
      links.unshift(last[p][at]);
    }
    return links;
  }

  function costOf(net, links) {
    if (!links) return [Infinity, 0];
    const cables = links.map((link) => net.links[link >> 1]);
    return [cables.reduce((sum, { alpha }) => sum + alpha, 0), Math.max(0, ...cables.map(({ beta }) => beta))];
  }

  // The loads of classes where links carry what is written or read, and no more. A packet has 64 bytes, whatever it holds.
  function loads() {
    return like.classes.map((name, number) => {
      const bytes = name === "packet" ? [64, 0] : [0, 1];
      return like.reads[number] ? { way: [0, 0], back: bytes } : { way: bytes, back: [0, 0] };
    });
  }

  function machineOf(net) {
    const all = net.machines.map((_, at) => at);
    const last = all.map((from) => ways(net, from));
    const found = all.map((p) => all.map((q) => way(net, last, p, q)));
    const lines = found.flat().map((links) => costOf(net, links));
    const route = (p, q) => ({ way: found[p][q] ?? [], back: found[q][p] ?? [] });
    const ends = net.links.flatMap((_, link) => [endsOf(net, 2 * link), endsOf(net, 2 * link + 1)]);
    return {
      ...like,
      topology: net.machines.length + " machines", positions: all.length, model: "levels",
      places: all.map((at) => "pos:" + at),
      drawing: { kind: "links", ...net },
      levels: ["own"], level: all.map((p) => all.map((q) => p * all.length + q)),
      costs: like.classes.map(() => lines), loads: loads(),
      links: ends.map(([a, b], link) => {
        const { beta } = net.links[link >> 1];
        return { from: net.machines[a], to: net.machines[b], rate: beta > 0 ? 1 / beta : null };
      }),
      routes: all.map((p) => all.map((q) => route(p, q))),
    };
  }

  // The machine of a net that differs from the one that `machine` was made of in names alone. Its ways and costs are the same, so they are not looked
  // for again: among 512 machines that takes seconds.
  function renamed(machine, net) {
    const links = machine.links.map(({ rate }, link) => {
      const [from, to] = endsOf(net, link).map((end) => net.machines[end]);
      return { from, to, rate };
    });
    return { ...machine, drawing: { kind: "links", ...net }, links };
  }

  return { machineOf, renamed };
})();
