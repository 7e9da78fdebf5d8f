"use strict";
// What can be made, renamed and deleted: each function gives a new state { world, mapping, traffic } and touches nothing of the page.
// `state.world` must be the one that `Model.enter` got. A new field that names things by number must be renumbered in `removeItem` and
// `removeMachine`, and set in `Files.load`. What is put into `world` ends the comparison with the present mapping and the proposal.
// An error says in a sentence why it cannot be.
const Change = (function () {
  const without = (list, number) => list.filter((_, at) => at !== number);
  const replaced = (list, number, value) => list.map((old, at) => (at === number ? value : old));
  const lowered = (number, gone) => (number > gone ? number - 1 : number);

  function refuse(sentence) {
    throw new Error(sentence);
  }

  // A name that nothing in the list has: the word and the first number that is free.
  function fresh(word, list) {
    let number = list.length;
    while (list.includes(word + number)) number++;
    return word + number;
  }

  const joined = (state, net) => ({ ...state, world: { ...state.world, net, machine: Net.machineOf(net) } });
  const renamed = (state, net) => ({ ...state, world: { ...state.world, net, machine: Net.renamed(state.world.machine, net) } });
  const netOf = ({ world }) => world.net ?? refuse("the machines of this page are fixed by --topology");

  // The first position where less than `room` things are.
  function free({ world }, list, room, what) {
    const all = Array.from({ length: world.machine.positions }, (_, at) => at);
    const found = all.find((position) => list.filter((at) => at === position).length < room);
    return found ?? refuse(all.length ? "no machine has room for a " + what : "a " + what + " needs a machine: make one first");
  }

  // --- making --------------------------------------------------------------------------------------

  const make = {
    machine(state) {
      const { machines, links } = netOf(state);
      if (machines.length >= Files.MOST_MADE) refuse("more than " + Files.MOST_MADE + " machines are not made on a page");
      return joined(state, { machines: [...machines, fresh("machine", machines)], links });
    },

    // Between the first two machines that have none yet.
    link(state) {
      const { machines, links } = netOf(state);
      if (machines.length < 2) refuse("a link joins two machines: make them first");
      const isJoined = (a, b) => links.some(({ ends }) => ends.includes(a) && ends.includes(b));
      let ends = [0, 1];
      search: for (let b = 1; b < machines.length; b++) {
        for (let a = b - 1; a >= 0; a--) {
          if (isJoined(a, b)) continue;
          ends = [a, b];
          break search;
        }
      }
      const name = fresh("link", links.map((link) => link.name));
      return joined(state, { machines, links: [...links, { name, ends, alpha: 2000, beta: 0.1 }] });
    },

    rank(state) {
      const { world, mapping } = state;
      const position = free(state, mapping.ranks, 1, Model.hasSegments ? "process" : "rank");
      const name = Model.hasSegments ? fresh("process", world.ranks) : String(world.ranks.length);
      return { ...state, world: { ...world, ranks: [...world.ranks, name] }, mapping: { ...mapping, ranks: [...mapping.ranks, position] } };
    },

    segment(state) {
      const { world, mapping } = state;
      if (world.names.length >= Files.MOST) refuse("a page has " + Files.MOST + " segments at most");
      const position = free(state, mapping.segments, world.room ?? Infinity, "segment");
      const names = [...world.names, fresh("segment", world.names)];
      return { ...state, world: { ...world, names }, mapping: { ...mapping, segments: [...mapping.segments, position] } };
    },
  };

  // --- deleting ------------------------------------------------------------------------------------

  // A rank or segment, with its accesses.
  function removeItem(state, { kind, number }) {
    const { world, mapping, traffic } = state;
    const ends = (access) => [...(kind === "rank" ? [["from", access.from]] : []), ...(Model.targetKind(access) === kind ? [["to", access.to]] : [])];
    const kept = traffic.filter((access) => ends(access).every(([, end]) => end !== number));
    const renumber = (access) => ends(access).reduce((next, [field, end]) => ({ ...next, [field]: lowered(end, number) }), access);
    const [things, places] = kind === "rank" ? ["ranks", "ranks"] : ["names", "segments"];
    // The ranks of a matrix have no names but their numbers.
    const left = without(world[things], number);
    const named = Model.hasSegments ? left : left.map((_, at) => String(at));
    return {
      world: { ...world, [things]: named },
      mapping: { ...mapping, [places]: without(mapping[places], number) },
      traffic: kept.map(renumber),
    };
  }

  // A machine, with its links and all that is on it.
  function removeMachine(state, number) {
    const { machines, links } = netOf(state);
    const on = Model.items().filter(({ kind, number: item }) => Model.listOf(state.mapping, kind)[item] === number);
    // From the last one on, so that numbers of the others stay what they are.
    const cleared = on.reverse().reduce(removeItem, state);
    const { ranks, segments } = cleared.mapping;
    const low = (list) => list.map((at) => lowered(at, number));
    const others = links.filter(({ ends }) => !ends.includes(number));
    const net = { machines: without(machines, number), links: others.map((link) => ({ ...link, ends: low(link.ends) })) };
    return joined({ ...cleared, mapping: { ranks: low(ranks), segments: low(segments) } }, net);
  }

  function remove(state, { kind, number }) {
    if (kind === "access") return { ...state, traffic: without(state.traffic, number) };
    if (kind === "machine") return removeMachine(state, number);
    if (kind === "link") {
      const { machines, links } = netOf(state);
      return joined(state, { machines, links: without(links, number) });
    }
    return removeItem(state, { kind, number });
  }

  // --- names, and what links join and cost ---------------------------------------------------------

  // `field`: name; of a link also alpha, beta, from and to.
  function set(state, { kind, number }, field, value) {
    const { world } = state;
    if (kind === "machine") {
      const { machines, links } = netOf(state);
      return renamed(state, { machines: replaced(machines, number, value), links });
    }
    if (kind === "link") return setLink(state, number, field, value);
    const things = kind === "rank" ? "ranks" : "names";
    return { ...state, world: { ...world, [things]: replaced(world[things], number, value) } };
  }

  function setLink(state, number, field, value) {
    const { machines, links } = netOf(state);
    const old = links[number];
    const ends = { from: [value, old.ends[1]], to: [old.ends[0], value] }[field];
    if (ends && ends[0] === ends[1]) refuse("a link joins two machines");
    const net = { machines, links: replaced(links, number, ends ? { ...old, ends } : { ...old, [field]: value }) };
    return field === "name" ? renamed(state, net) : joined(state, net);
  }

  return { make, remove, set };
})();
