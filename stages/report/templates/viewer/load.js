// Data files are scripts that call put(name, value): a page that is opened from disk may fetch nothing else.
const HEADER = JSON.parse(document.getElementById("header").textContent);
const files = new Map(), arriving = new Map();

window.put = (name, value) => { arriving.get(name)(value); arriving.delete(name); };

function load(name) {
  if (!files.has(name)) {
    files.set(name, new Promise((resolve, reject) => {
      const script = document.createElement("script");
      arriving.set(name, resolve);
      script.src = `${HEADER.root}/${name}.js`;
      script.onload = () => script.remove();
      script.onerror = () => {
        files.delete(name);
        reject(new Error(`${HEADER.root}/${name}.js is missing. Keep that folder beside this page.`));
      };
      document.head.append(script);
    }));
  }
  return files.get(name);
}

const KEPT = 6;
const opened = [];

// The body of one record; only the last few shards are kept in memory.
async function body(record) {
  let low = 0, high = HEADER.body_starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (HEADER.body_starts[middle] <= record) low = middle; else high = middle - 1;
  }
  const name = `body-${low}`;
  const bodies = await load(name);
  if (!opened.includes(name)) opened.push(name);
  if (opened.length > KEPT) files.delete(opened.shift());
  return bodies[record - HEADER.body_starts[low]];
}

function problem(error) {
  document.querySelector(".problem")?.remove();
  document.querySelector("main").prepend(el("p", { className: "problem", textContent: error.message ?? String(error) }));
}
