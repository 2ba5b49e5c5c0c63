// Names and texts: read for what is in sight, and all of them for a search or to find a name. They are read ahead when
// nothing else is to do, so that a search finds them there.
const textPages = Math.ceil(HEADER.count / HEADER.text_page);
const lines = new Map(), lowered = new Map();

// The names and texts of a page, a record a line.
async function textPage(page) {
  if (!lines.has(page)) {
    const { name, text } = await load(`text-${page}`);
    lines.set(page, { name: name.split("\n"), text: text.split("\n") });
  }
  return lines.get(page);
}

async function lineOf(record) {
  const { name, text } = await textPage(Math.floor(record / HEADER.text_page));
  const place = record % HEADER.text_page;
  return { name: name[place], said: text[place].split("\t", 1)[0] };
}

async function recordNamed(wanted) {
  for (let page = 0; page < textPages; page++) {
    const place = (await textPage(page)).name.indexOf(wanted);
    if (place >= 0) return page * HEADER.text_page + place;
  }
  return -1;
}

// What the search reads: the request, the tools called and the name, in small letters.
async function searchable(page) {
  if (!lowered.has(page)) {
    const { name, text } = await textPage(page);
    lowered.set(page, text.map((line, i) => `${line}\n${name[i]}`.toLowerCase()));
  }
  return lowered.get(page);
}

async function readAhead() {
  for (let page = 0; page < textPages; page++) {
    await new Promise((resolve) => requestIdleCallback(resolve));
    await searchable(page);
  }
}
