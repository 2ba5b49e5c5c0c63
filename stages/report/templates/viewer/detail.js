// One record: what it is, what it earned and why, what was expected beside what was made, then what happened.
let running = null;

function showDetail(root, name, told) {
  running?.stop();
  running = timeline(told.events, root);
  root.replaceChildren();
  fill(root, [
    el("h2", { textContent: name }),
    el("dl", { className: "facts" }, told.facts.map(([key, value]) =>
      el("div", {}, el("dt", { textContent: key }), el("dd", { textContent: value }))),
      told.link ? el("div", {}, linkTo(told.link)) : null),
    told.verdict.map((sentence) => el("p", { className: "verdict", textContent: sentence })),
    told.parts?.length ? partsTable(told) : null,
    told.compared.filter((part) => part.rows.length || part.extra.length).map(comparedTable),
    told.end ? endState(told.end) : null,
    told.no_diff ? el("p", { className: "soft nodiff", textContent: `No state diffs: ${told.no_diff}.` }) : null,
    told.path ? folded("Steps of the state machine", el("div", { className: "path" }, pathText(told.path))) : null,
    folded(`Visible tools (${told.tools.length})`, el("div", { className: "mono", textContent: told.tools.join(", ") })),
    el("h3", { textContent: `What happened (${number(told.events.filter((event) => event.t !== "turn").length)} events)` }),
    running.root]);
  root.scrollTop = 0;
}

const folded = (title, content) => el("details", {}, el("summary", { className: "soft", textContent: title }), content);

const pathText = (path) => path.map(([state, event], i) => `${i ? " → " : ""}${state} (${event})`).join("") + (path.length ? ` → ${path.at(-1)[2]}` : "");

function partsTable(told) {
  const line = (part) => el("tr", {}, el("td", { textContent: part.name }), el("td", { className: "number", textContent: number(part.value, 3) }),
    el("td", { className: "number soft", textContent: `× ${part.weight}` }), el("td", { className: "number", textContent: number(part.points, 3) }),
    el("td", { textContent: part.why }));
  const head = ["part", "value", "weight", "points", "why"].map((text, i) => el("th", { textContent: text, className: i && i < 4 ? "number" : "" }));
  return el("table", { className: "parts" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, told.parts.map(line),
    el("tr", {}, el("td", { textContent: "reward" }), el("td"), el("td"), el("td", { className: "number" }, el("b", { textContent: number(told.total, 3) })), el("td"))));
}

function comparedTable(part) {
  const rows = part.rows.map((row) => el("tr", {},
    el("td", {}, callText(row.expected, row.differs)),
    el("td", {}, row.made ? callText(row.made, row.differs) : null,
      row.why ? el("div", { className: row.good ? "soft" : "bad", textContent: row.why } ) : null)));
  const extra = part.extra.map((call) => el("tr", {}, el("td", { className: "soft", textContent: "stands for no expected call" }),
    el("td", {}, callText(call, []), call.why ? el("div", { className: "bad", textContent: call.why }) : null)));
  return [el("h3", { textContent: part.title }), el("table", { className: "compared" },
    el("thead", {}, el("tr", {}, el("th", { textContent: "expected" }), el("th", { textContent: "made" }))), el("tbody", {}, rows, extra))];
}

const callText = (call, differs) => el("div", { className: "mono" }, call.n ? el("span", { className: "soft", textContent: `${call.n} ` }) : null,
  el("b", { textContent: call.name }), el("div", { className: "arguments" }, call.arguments.map(([name, value]) =>
    el("div", { className: differs.includes(name) ? "differs" : "", textContent: `${name} = ${value}` }))));

function endState(end) {
  if (!end.length) return el("p", { className: "soft", textContent: "The state at the end is row for row the expected one." });
  return [el("h3", { textContent: "The state at the end, where it is not the expected one (expected → found)" }), end.map(drawChange)];
}
