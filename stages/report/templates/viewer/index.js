// The index in columns of numbers, so that 200,000 records fit and are filtered in a blink. A facet's column says which
// set of values a record has; `sets` knows their codes: most are of one.
const index = { known: 0 };
const sets = Object.fromEntries(HEADER.facets.map(({ key }) => [key, { codes: [], place: new Map() }]));
for (const { key } of HEADER.facets) index[key] = new Int32Array(HEADER.count);
for (const { key } of HEADER.measures) index[key] = new Float64Array(HEADER.count).fill(NaN);

async function readIndex(onFirst) {
  const pages = Math.ceil(HEADER.count / HEADER.index_page);
  const coming = Array.from({ length: pages }, (_, page) => load(`index-${page}`));
  for (let page = 0; page < pages; page++) {
    const part = await coming[page];
    files.delete(`index-${page}`);
    const start = page * HEADER.index_page, end = Math.min(HEADER.count, start + HEADER.index_page);
    for (const { key } of HEADER.facets) spread(part[key], part[key].values.map((value) => setOf(key, value)), index[key], start, end);
    for (const { key } of HEADER.measures) spread(part[key], part[key].values.map((value) => value ?? NaN), index[key], start, end);
    index.known = end;
    if (page === 0) onFirst();
  }
}

function setOf(key, value) {
  const { codes, place } = sets[key], name = String(value);
  if (!place.has(name)) { place.set(name, codes.length); codes.push(Array.isArray(value) ? value : [value]); }
  return place.get(name);
}

// Writes a coded column into its place.
function spread({ places }, values, column, start, end) {
  if (!places) return column.fill(values[0], start, end);
  const bytes = atob(places);
  if (values.length <= 256) for (let i = start; i < end; i++) column[i] = values[bytes.charCodeAt(i - start)];
  else for (let i = start, at = 0; i < end; i++, at += 2) column[i] = values[(bytes.charCodeAt(at) << 8) | bytes.charCodeAt(at + 1)];
  return column;
}

// Records in the order of a measure; those without one come last, equal ones stay as they are.
function ordered(chosen, column, up) {
  const values = [...new Set(Array.from(chosen, (record) => column[record]))].sort((a, b) => Number.isNaN(a) - Number.isNaN(b) || (up ? a - b : b - a));
  const place = new Map(values.map((value, i) => [value, i]));
  const starts = new Int32Array(values.length + 1);
  const places = Int32Array.from(chosen, (record) => place.get(column[record]));
  for (const at of places) starts[at + 1]++;
  for (let i = 1; i < starts.length; i++) starts[i] += starts[i - 1];
  const out = new Int32Array(chosen.length);
  for (let i = 0; i < chosen.length; i++) out[starts[places[i]]++] = chosen[i];
  return out;
}
