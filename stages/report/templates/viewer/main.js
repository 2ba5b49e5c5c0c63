// Joins the parts: filters and search choose records, the list shows them, a click opens one.
const rows = document.getElementById("rows"), detail = document.getElementById("detail"), status = document.getElementById("status");
const order = document.getElementById("order");
const list = buildList(rows, openRecord);
const refreshCounts = buildFilters(document.getElementById("filters"), refresh);
let current = -1, currentName = "";

for (const measure of HEADER.measures) {
  order.append(el("option", { value: `${measure.key} down`, textContent: `most ${measure.label} first` }),
    el("option", { value: `${measure.key} up`, textContent: `least ${measure.label} first` }));
}

function refresh() {
  const { chosen, counts } = select();
  const [key, way] = order.value.split(" ");
  refreshCounts(counts);
  list.show(way ? ordered(chosen, index[key], way === "up") : chosen);
  const reading = index.known < HEADER.count && chosen.length < HEADER.count ? `, reading ${number(index.known)}` : "";
  status.textContent = `${number(chosen.length)} of ${number(HEADER.count)}${reading}`;
}

async function openRecord(record) {
  current = record;
  list.mark(record);
  try {
    const [{ name }, told] = await Promise.all([lineOf(record), body(record)]);
    if (current !== record) return;
    currentName = name;
    location.hash = encodeURIComponent(name);
    showDetail(detail, name, told);
  } catch (error) { problem(error); }
}

async function openNamed() {
  const name = decodeURIComponent(location.hash.slice(1));
  if (!name || name === currentName) return;
  const record = await recordNamed(name);
  if (record >= 0) openRecord(record); else problem(new Error(`There is no record named ${name} on this page.`));
}

let pause = 0;
document.getElementById("search").addEventListener("input", (event) => {
  clearTimeout(pause);
  pause = setTimeout(() => search(event.target.value, refresh).catch(problem), 150);
});
order.addEventListener("change", refresh);
addEventListener("hashchange", () => openNamed().catch(problem));
for (const step of document.querySelectorAll("[data-step]")) {
  step.addEventListener("click", () => document.querySelector(`[data-facet=steps][data-value="${CSS.escape(step.dataset.step)}"] input`)?.click());
}
refresh();
openNamed().catch(problem);
readIndex(refresh).then(() => { refresh(); return readAhead(); }).catch(problem);
