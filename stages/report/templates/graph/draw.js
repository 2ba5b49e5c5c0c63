// The drawing: a panel for each server, a box for each tool, a curve for each edge. Places come with the data.
const GRAPH = JSON.parse(document.getElementById("header").textContent);
const BOX = { width: 196, height: 24 };

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function draw(onTool, onEdge) {
  const panels = GRAPH.panels.map((panel) => svg("g", { class: "panel" },
    svg("rect", { x: panel.x - 14, y: panel.y - 4, width: panel.width, height: panel.height + 8, rx: 10 }),
    svg("text", { x: panel.x, y: panel.y + 46 }, panel.server)));
  const edges = GRAPH.edges.map((edge, place) => {
    const path = curve(GRAPH.tools[edge.first], GRAPH.tools[edge.second]);
    const node = svg("g", { class: `edge ${edge.verdict}` }, svg("path", { class: "line", d: path, "marker-end": "url(#tip)" }), svg("path", { class: "near", d: path }));
    node.addEventListener("click", () => onEdge(place));
    return node;
  });
  const tools = GRAPH.tools.map((tool, place) => {
    const kind = tool.hints.includes("destructive") ? "destroys" : tool.hints.includes("read only") ? "reads" : "writes";
    const node = svg("g", { class: `tool ${kind}`, transform: `translate(${tool.x},${tool.y})`, "data-tool": tool.name },
      svg("rect", { width: BOX.width, height: BOX.height, rx: 5 }), svg("text", { x: 8, y: 16 }, short(tool.name)));
    node.addEventListener("click", () => onTool(place));
    return node;
  });
  const tip = svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    svg("path", { d: "M0,0 L8,4 L0,8 z" }));
  return { root: svg("g", {}, svg("defs", {}, tip), ...panels, ...edges, ...tools), panels, edges, tools };
}

const short = (name) => (name.length > 29 ? `${name.slice(0, 28)}…` : name);

// From the right side of the first to the left side of the second; within a column, around its right.
function curve(a, b) {
  const y1 = a.y + BOX.height / 2, y2 = b.y + BOX.height / 2;
  const x1 = a.x + BOX.width, x2 = b.x > a.x ? b.x : b.x + BOX.width;
  const reach = b.x > a.x ? Math.max(24, (x2 - x1) / 2) : 34;
  return `M${x1},${y1} C${x1 + reach},${y1} ${x2 + (b.x > a.x ? -reach : reach)},${y2} ${x2},${y2}`;
}
