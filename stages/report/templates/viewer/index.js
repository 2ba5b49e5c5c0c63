// The index in columns of numbers, so that 200,000 records fit and are filtered in a blink.
const index = { known: 0 };
for (const facet of HEADER.facets) index[facet.key] = facet.many ? new Array(HEADER.count) : new Int32Array(HEADER.count);
for (const measure of HEADER.measures) index[measure.key] = new Float64Array(HEADER.count);

const PATIENCE = 500;  // milliseconds between two looks at an index that is still arriving

async function readIndex(onPage) {
  let told = 0;
  const pages = Math.ceil(HEADER.count / HEADER.index_page);
  const coming = Array.from({ length: pages }, (_, page) => load(`index-${page}`));
  for (let page = 0; page < pages; page++) {
    const part = await coming[page];
    files.delete(`index-${page}`);
    const start = page * HEADER.index_page;
    for (const key of Object.keys(part)) {
      const column = index[key], values = part[key];
      for (let i = 0; i < values.length; i++) column[start + i] = values[i] === null ? NaN : values[i];
    }
    index.known = Math.min(HEADER.count, start + HEADER.index_page);
    if (page === 0 || performance.now() - told > PATIENCE) { onPage(); told = performance.now(); }
  }
  onPage();
}

// Names and texts are read for what is in sight, and all of them for a search or to find a name.
const textPages = () => Math.ceil(index.known / HEADER.text_page);

async function lineOf(record) {
  const { name, text } = await load(`text-${Math.floor(record / HEADER.text_page)}`);
  const place = record % HEADER.text_page;
  return { name: name[place], said: text[place].split("\n", 1)[0] };
}

async function recordNamed(wanted) {
  for (let page = 0; page < textPages(); page++) {
    const place = (await load(`text-${page}`)).name.indexOf(wanted);
    if (place >= 0) return page * HEADER.text_page + place;
  }
  return -1;
}

const lowered = new Map();

// What the search reads: the request, the tools called and the name, in small letters.
async function searchable(page) {
  if (!lowered.has(page)) {
    const { name, text } = await load(`text-${page}`);
    lowered.set(page, text.map((line, i) => `${line}\n${name[i]}`.toLowerCase()));
  }
  return lowered.get(page);
}
