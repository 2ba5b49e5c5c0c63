// The list of records: only the rows in sight are in the document, however many there are.
const ROW = 66;

function buildList(root, open) {
  const space = el("div", { className: "space" });
  root.append(space);
  let records = [], current = -1;

  function draw() {
    const first = Math.max(0, Math.floor(root.scrollTop / ROW) - 4);
    const last = Math.min(records.length, Math.ceil((root.scrollTop + root.clientHeight) / ROW) + 4);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(row(records[place], place));
    space.replaceChildren(...rows);
  }

  function row(record, place) {
    const title = el("span"), said = el("div", { className: "said" });
    lineOf(record).then((line) => { title.textContent = line.name; said.textContent = line.said; }, problem);
    const known = record < index.known;
    const node = el("div", { className: record === current ? "row open" : "row", click: () => open(record) },
      el("div", { className: "top" }, title, known ? headline(record) : null),
      said, known ? el("div", { className: "under", textContent: underline(record) }) : null);
    node.style.top = `${place * ROW}px`;
    node.dataset.record = record;
    return node;
  }

  function move(by) {
    const place = Math.min(records.length - 1, Math.max(0, records.indexOf(current) + by));
    if (records.length) open(records[place]);
  }

  root.addEventListener("scroll", () => requestAnimationFrame(draw));
  new ResizeObserver(draw).observe(root);
  root.tabIndex = 0;
  root.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) { event.preventDefault(); move(by); }
  });
  return {
    show(found) {
      records = found;
      space.style.height = `${records.length * ROW}px`;
      draw();
    },
    mark(record) {
      current = record;
      const place = records.indexOf(record), top = place * ROW;
      if (place >= 0 && (top < root.scrollTop || top + ROW > root.scrollTop + root.clientHeight)) {
        root.scrollTop = top - root.clientHeight / 2;
      }
      draw();
    },
  };
}

const valueOf = (key, record) => {
  const facet = HEADER.facets.find((one) => one.key === key);
  return facet ? facet.values[sets[key].codes[index[key][record]][0]] : undefined;
};

function headline(record) {
  if (index.reward) {
    const outcome = valueOf("outcome", record);
    const tone = outcome === "solved" ? "good" : outcome === "not solved" ? "bad" : "";
    return el("span", { className: `number mark ${tone}`, textContent: number(index.reward[record], 2) });
  }
  const status = valueOf("status", record);
  return el("span", { className: `mark ${status === "accepted" ? "good" : status === "rejected" ? "bad" : ""}`, textContent: status });
}

const underline = (record) =>
  [...["set", "server", "kind", "outcome", "reason"].map((key) => valueOf(key, record)).filter((value) => value && value !== "none"),
    `${number(index.calls[record])} call${index.calls[record] === 1 ? "" : "s"}`].join(" · ");
