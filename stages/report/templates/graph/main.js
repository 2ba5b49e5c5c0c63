// Joins the drawing with its filters, the search and what is told at the side.
const canvas = document.getElementById("canvas"), side = document.getElementById("side");
const servers = document.getElementById("server"), finder = document.getElementById("search");
const kinds = [...document.querySelectorAll("[data-kind]")];
const drawing = draw(pickTool, (number) => { pickTool(GRAPH.edges[number].second); pickEdge(number, true); });
canvas.append(drawing.root);
const view = camera(canvas, drawing.root);
let picked = -1;

function visible(edge) {
  return kinds.some((box) => box.checked && box.dataset.kind === edge.verdict)
    && (!servers.value || GRAPH.tools[edge.second].server === servers.value);
}

function pickTool(place) {
  picked = place;
  const lit = new Set([place]);
  GRAPH.edges.forEach((edge, number) => {
    const mine = (edge.first === place || edge.second === place) && visible(edge);
    drawing.edges[number].classList.toggle("lit", mine);
    if (mine) { lit.add(edge.first); lit.add(edge.second); }
  });
  drawing.tools.forEach((node, number) => {
    node.classList.toggle("lit", lit.has(number));
    node.classList.toggle("chosen", number === place);
  });
  canvas.classList.add("picked");
  tellTool(side, place, (other) => { pickTool(other); lookAt(other); }, pickEdge);
  history.replaceState(null, "", `#${encodeURIComponent(GRAPH.tools[place].name)}`);
}

function pickEdge(number, scroll) {
  for (const node of side.querySelectorAll(".edge-told")) {
    const mine = Number(node.dataset.edge) === number;
    node.classList.toggle("chosen", mine);
    if (mine && scroll) node.scrollIntoView({ block: "center" });
  }
}

function release() {
  picked = -1;
  canvas.classList.remove("picked");
  for (const node of [...drawing.tools, ...drawing.edges]) node.classList.remove("lit", "chosen");
  tellAll(side);
}

function lookAt(place) {
  const panel = GRAPH.panels.find((one) => one.server === GRAPH.tools[place].server);
  view.fit(panel);
}

function everything() {
  const right = Math.max(...GRAPH.panels.map((p) => p.x + p.width)), bottom = Math.max(...GRAPH.panels.map((p) => p.y + p.height));
  view.fit(GRAPH.panels.find((p) => p.server === servers.value) ?? { x: 0, y: 0, width: right, height: bottom });
}

function filter() {
  GRAPH.edges.forEach((edge, number) => drawing.edges[number].classList.toggle("hidden", !visible(edge)));
  const shows = ({ server }) => (!servers.value || server === servers.value ? "" : "none");
  GRAPH.tools.forEach((tool, number) => { drawing.tools[number].style.display = shows(tool); });
  GRAPH.panels.forEach((panel, number) => { drawing.panels[number].style.display = shows(panel); });
  document.getElementById("count").textContent = `${number(GRAPH.edges.filter(visible).length)} edges`;
  if (picked >= 0) pickTool(picked);
}

function find(words) {
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!terms.length) return release();
  const found = GRAPH.tools.map((tool, place) => [tool, place])
    .filter(([tool]) => terms.every((term) => `${tool.name} ${tool.server} ${tool.description}`.toLowerCase().includes(term)));
  drawing.tools.forEach((node) => node.classList.remove("lit", "chosen"));
  drawing.edges.forEach((node) => node.classList.remove("lit"));
  for (const [, place] of found) drawing.tools[place].classList.add("lit");
  canvas.classList.add("picked");
  side.replaceChildren(el("h2", { textContent: `${number(found.length)} tools` }), el("div", { id: "found" }, found.map(([tool, place]) =>
    el("div", {}, el("button", { className: "plain mono", textContent: tool.name, click: () => { pickTool(place); lookAt(place); } }),
      el("span", { className: "soft", textContent: ` ${tool.server}` })))));
}

for (const panel of GRAPH.panels) servers.append(el("option", { value: panel.server, textContent: panel.server }));
servers.addEventListener("change", () => { filter(); everything(); });
for (const box of kinds) box.addEventListener("change", filter);
finder.addEventListener("input", () => find(finder.value));
addEventListener("keydown", (event) => { if (event.key === "Escape") { finder.value = ""; release(); } });
document.getElementById("in").addEventListener("click", () => view.zoom(1.4));
document.getElementById("out").addEventListener("click", () => view.zoom(1 / 1.4));
document.getElementById("all").addEventListener("click", () => { release(); everything(); });
release();
filter();
everything();
const asked = GRAPH.tools.findIndex((tool) => tool.name === decodeURIComponent(location.hash.slice(1)));
if (asked >= 0) { pickTool(asked); lookAt(asked); }
