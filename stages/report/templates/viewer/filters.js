// Which records are shown: those that have one of the ticked values of every facet, lie between the bounds of every
// measure, and hold every word of the search. Each value tells how many records it would show beside the other filters.
const ticked = Object.fromEntries(HEADER.facets.map((facet) => [facet.key, new Set()]));
const bounds = Object.fromEntries(HEADER.measures.map((measure) => [measure.key, [-Infinity, Infinity]]));
let hits = null;  // per record whether the search finds it; null without a search
let searches = 0;

function select() {
  const limited = HEADER.measures.filter(({ key }) => bounds[key][0] > -Infinity || bounds[key][1] < Infinity);
  const passing = HEADER.facets.map(({ key }) => (ticked[key].size ? passingSets(key) : null));
  if (!hits && !limited.length && !passing.some(Boolean)) return everything();
  const columns = HEADER.facets.map(({ key }) => index[key]);
  const tally = HEADER.facets.map(({ key }) => new Int32Array(sets[key].codes.length));
  const chosen = new Int32Array(index.known);
  let found = 0;
  for (let i = 0; i < index.known; i++) {
    if (hits && !hits[i]) continue;
    if (!limited.every(({ key }) => index[key][i] >= bounds[key][0] && index[key][i] <= bounds[key][1])) continue;
    let failing = -1, failures = 0;
    for (let f = 0; f < columns.length && failures < 2; f++) {
      if (passing[f] && !passing[f][columns[f][i]]) { failing = f; failures++; }
    }
    if (failures === 0) {
      chosen[found++] = i;
      for (let f = 0; f < columns.length; f++) tally[f][columns[f][i]]++;
    } else if (failures === 1) tally[failing][columns[failing][i]]++;
  }
  return { chosen: chosen.subarray(0, found), counts: HEADER.facets.map((facet, f) => byValue(facet, tally[f])) };
}

// Without a filter the header knows the counts, however much of the index has come.
function everything() {
  return { chosen: Int32Array.from({ length: HEADER.count }, (_, i) => i), counts: HEADER.facets.map(({ counts }) => counts) };
}

const passingSets = (key) => sets[key].codes.map((codes) => codes.some((code) => ticked[key].has(code)));

function byValue({ key, values }, tally) {
  const counts = new Int32Array(values.length);
  sets[key].codes.forEach((codes, set) => { for (const code of codes) counts[code] += tally[set]; });
  return counts;
}

async function search(words, onChange) {
  const run = ++searches;
  const terms = words.toLowerCase().split(/\s+/).filter(Boolean);
  hits = null;
  if (!terms.length) return onChange();
  const found = new Uint8Array(HEADER.count);
  for (let page = 0; page < textPages; page++) load(`text-${page}`);
  for (let page = 0; page < textPages; page++) {
    const lines = await searchable(page);
    if (run !== searches) return;
    lines.forEach((line, i) => { if (terms.every((term) => line.includes(term))) found[page * HEADER.text_page + i] = 1; });
  }
  hits = found;
  onChange();
}

const SHOWN_VALUES = 12;

// Builds the column of filters; returns how to refresh its counts.
function buildFilters(root, onChange) {
  const counters = HEADER.facets.map((facet) => facetBox(root, facet, onChange));
  for (const measure of HEADER.measures) if (measure.range) measureBox(root, measure, onChange);
  root.append(el("button", { textContent: "Clear all filters", id: "clear", click: () => clearFilters(root, onChange) }));
  return (counts) => counters.forEach((show, f) => show(counts[f]));
}

function facetBox(root, facet, onChange) {
  const order = facet.values.map((_, code) => code)
    .sort((a, b) => facet.values[a].localeCompare(facet.values[b], "en", { numeric: true }));
  const lines = order.map((code) => {
    const box = el("input", { type: "checkbox", change: () => {
      if (box.checked) ticked[facet.key].add(code); else ticked[facet.key].delete(code);
      onChange();
    } });
    const count = el("span", { className: "count" });
    const line = el("label", {}, box, el("span", { textContent: facet.values[code] }), count);
    line.dataset.facet = facet.key;
    line.dataset.value = facet.values[code];
    return { code, line, count };
  });
  root.append(el("h3", { textContent: facet.label }), ...lines.slice(0, SHOWN_VALUES).map(({ line }) => line));
  if (lines.length > SHOWN_VALUES) {
    const rest = el("details", {}, el("summary", { className: "soft", textContent: `${lines.length - SHOWN_VALUES} more` }),
      lines.slice(SHOWN_VALUES).map(({ line }) => line));
    root.append(rest);
  }
  return (counts) => {
    for (const { code, line, count } of lines) {
      count.textContent = number(counts[code]);
      line.classList.toggle("none", counts[code] === 0);
    }
  };
}

function measureBox(root, measure, onChange) {
  const input = (side, hint) => el("input", { type: "number", step: "any", placeholder: String(hint), title: `${measure.label}, ${side ? "most" : "least"}`,
    name: `${measure.key}-${side ? "most" : "least"}`, input: (event) => {
      const typed = event.target.valueAsNumber;
      bounds[measure.key][side] = Number.isNaN(typed) ? (side ? Infinity : -Infinity) : typed;
      onChange();
    } });
  const [low, high] = measure.range;
  root.append(el("h3", { textContent: measure.label }), el("div", { className: "between" }, input(0, low), "to", input(1, high)));
}

function clearFilters(root, onChange) {
  for (const wanted of Object.values(ticked)) wanted.clear();
  for (const key of Object.keys(bounds)) bounds[key] = [-Infinity, Infinity];
  for (const box of root.querySelectorAll("input")) { box.checked = false; if (box.type === "number") box.value = ""; }
  onChange();
}
