// Data reaches the page through here, as text and never as markup: what a tool or a model wrote is not trusted.
function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else node[key] = value;
  }
  return fill(node, children);
}

// Adds nodes and texts, nested as they come; null, undefined and "" are left out.
function fill(node, children) {
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

const number = (value, digits = 0) =>
  value === null || value === undefined || Number.isNaN(value) ? "–"
    : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

const LONG = 2000;

// A long text is cut and can be shown whole.
function long(tag, className, text) {
  const node = el(tag, { className, textContent: text.length > LONG ? text.slice(0, LONG) : text });
  if (text.length <= LONG) return [node];
  const more = el("button", { className: "plain", textContent: `show all ${number(text.length)} characters` });
  more.addEventListener("click", () => { node.textContent = text; more.remove(); });
  return [node, more];
}

const linkTo = ([label, page, name]) => el("a", { href: `${page}#${encodeURIComponent(name)}`, textContent: label });
