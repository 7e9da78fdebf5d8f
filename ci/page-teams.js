// Checks that the browser makes in the page of a run with barriers of a team, for ci/page: three rounds, of which the second is of team 0.4,
// whose members are the nodes 0 and 2. The result is an element that --dump-dom shows: "ok WHAT" or "WHAT" for each check.
"use strict";
(function () {
  const results = [];
  const check = (what, good, found) => results.push(good ? "ok " + what : what + ": " + found);
  const byId = (id) => document.getElementById(id);
  check("rounds are in the order of time", String(Data.team) === ",0.4,", Data.team);
  check("members alone are in it", String(Array.from(Data.enter.slice(3, 6), (enter) => enter >= 0)) === "true,false,true", Data.enter.slice(3, 6));
  check("the last member is known", Data.lastNode[1] === 2 && Data.cost[1] === Data.enter[5] - Data.enter[3], Data.lastNode[1] + " " + Data.cost[1]);

  function ask(round, node) {
    byId("node").value = node;
    byId("barrier").value = round;
    byId("barrier").dispatchEvent(new Event("change"));
    return byId("answer").textContent;
  }
  const last = ask(2, 2);
  check("the answer names the team", /Node 2 came last to barrier 2 of team 0\.4/.test(last) && /before barrier 2 of team 0\.4/.test(last), last);
  const other = ask(2, 1);
  check("who is no member was not there", /was not at barrier 2 of team 0\.4/.test(other), other);
  const next = ask(3, 2);
  check("others have no name", /barrier 3[:.]/.test(next) && /Since it left barrier 2 of team 0\.4/.test(next), next);
  check("those that cost most are named", /2 \(team 0\.4\): node 2/.test(byId("worst").textContent), byId("worst").textContent);
  check("calls are named", Data.kinds.some((kind) => Tell.kindName(kind) === "BARRIER of team 0.4"), Data.kinds.map(Tell.kindName));
  check("statistics count them apart", /2 barriers of all of them/.test(document.body.textContent) && /1 barriers? of teams: 0\.4 \(1\)/.test(document.body.textContent), "they do not");

  // What is drawn in the rows of the members has the colour of barriers, in the row of the other one it has not.
  const canvas = byId("timeline");
  const ratio = devicePixelRatio || 1; // as the painter has it: the canvas has no size before the first frame
  const x = Math.round((Math.round(View.x(Data.latest[1])) + 0.5) * ratio);
  const pixels = (node) => String(canvas.getContext("2d").getImageData(x - 1, Math.round((View.y(node) + View.row - 2) * ratio), 3, 1).data);
  const rows = () => (Draw.paint(), [0, 1, 2].map(pixels));
  const before = rows();
  byId("show-barriers").click();
  const hidden = rows();
  byId("show-barriers").click();
  const differ = before.map((drawn, node) => drawn !== hidden[node]);
  check("it is drawn in its members' rows", String(differ) === "true,false,true", differ);
  check("no script failed", !window.pageErrors, window.pageErrors);

  document.body.append(Object.assign(document.createElement("pre"), { id: "page-check", textContent: results.join(";").replace(/[<&]/g, "?") }));
})();
