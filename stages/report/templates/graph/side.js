// What is told of a tool or an edge beside the drawing.
function tellTool(side, place, pickTool, pickEdge) {
  const tool = GRAPH.tools[place];
  const into = [], out = [];
  GRAPH.edges.forEach((edge, number) => {
    if (edge.second === place && visible(edge)) into.push(number);
    if (edge.first === place && visible(edge)) out.push(number);
  });
  side.replaceChildren(
    el("h2", { textContent: tool.name }),
    el("p", { className: "soft", textContent: [tool.server, ...tool.hints].join(" · ") }),
    el("p", { textContent: tool.description }),
    el("h3", { textContent: "Parameters" }), parameters(tool),
    el("details", {}, el("summary", { className: "soft", textContent: "Schema" }), el("pre", { textContent: tool.schema })),
    tool.codes.length ? el("p", { className: "soft", textContent: `Error codes: ${tool.codes.join(", ")}` }) : "",
    el("h3", { textContent: `Needs (${into.length})` }), ...into.map((n) => tellEdge(n, GRAPH.edges[n].first, pickTool, pickEdge)),
    el("h3", { textContent: `Is needed by (${out.length})` }), ...out.map((n) => tellEdge(n, GRAPH.edges[n].second, pickTool, pickEdge)));
  side.scrollTop = 0;
}

function parameters(tool) {
  if (!tool.parameters.length) return el("p", { className: "soft", textContent: "none" });
  return el("table", {}, el("tbody", {}, tool.parameters.map(([name, type, required, description]) => el("tr", {},
    el("td", {}, el("span", { className: "mono", textContent: name }), required ? el("span", { className: "soft", textContent: " required" }) : null),
    el("td", {}, el("div", { className: "soft", textContent: type }), description)))));
}

const VERDICTS = { explicit: "explicit: passes a value on", implicit: "implicit: prepares the state", none: "not an edge: claimed only" };

function tellEdge(number, other, pickTool, pickEdge) {
  const edge = GRAPH.edges[number];
  const proofs = [edge.schema && "schema", edge.trace && "trace", edge.executed && "executed", edge.teacher && `teacher: ${edge.teacher}`].filter(Boolean);
  const node = el("div", { className: "edge-told", mouseenter: () => pickEdge(number, false) },
    el("button", { className: "plain mono", textContent: GRAPH.tools[other].name, click: () => pickTool(other) }),
    el("div", { className: "soft", textContent: [VERDICTS[edge.verdict], edge.parameter && `by ${edge.parameter}`, edge.error_code && `else ${edge.error_code}`].filter(Boolean).join(", ") }),
    edge.evidence ? el("div", { className: "evidence", textContent: edge.evidence }) : null,
    edge.reason ? el("div", { className: "evidence soft", textContent: `Teacher: ${edge.reason}` }) : null,
    el("div", {}, proofs.map((proof) => [el("span", { className: "mark", textContent: proof }), " "])));
  node.dataset.edge = number;
  return node;
}

function tellAll(side) {
  const count = (verdict) => number(GRAPH.edges.filter((edge) => edge.verdict === verdict).length);
  side.replaceChildren(
    el("h2", { textContent: "Which tool needs which" }),
    el("p", { textContent: `${number(GRAPH.tools.length)} tools of ${number(GRAPH.panels.length)} servers. An edge runs from the tool that comes first to the one that needs it, so work runs from left to right.` }),
    el("div", { className: "legend" },
      line(""), el("span", { textContent: `explicit: its output is the other's input (${count("explicit")})` }),
      line("implicit"), el("span", { textContent: `implicit: it prepares the state that the other needs (${count("implicit")})` }),
      line("none"), el("span", { textContent: `claimed, and not borne out by what counts as evidence (${count("none")})` }),
      box("reads"), el("span", { textContent: "reads" }), box("writes"), el("span", { textContent: "changes state" }),
      box("destroys"), el("span", { textContent: "removes or overwrites" })),
    el("p", { className: "soft", textContent: "Click a tool or an edge; drag to move, turn the wheel to zoom." }));
}

const line = (kind) => svg("svg", { viewBox: "0 0 48 10", width: 48, height: 10 }, svg("g", { class: `edge lit ${kind}` }, svg("path", { class: "line", d: "M0,5 H48" })));
const box = (kind) => svg("svg", { viewBox: "0 0 48 16", width: 48, height: 16 }, svg("g", { class: `tool ${kind}` }, svg("rect", { x: 1, y: 1, width: 40, height: 14, rx: 4 })));
