// A timeline of any length: its events are grouped, and a group is in the document only while it is near.
const GROUP = 40;
const GUESS = 90;  // pixels of an event that was never seen

function timeline(events, scroller) {
  const root = el("div", { className: "timeline" });
  const groups = [];
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (isIntersecting) show(target); else empty(target);
  }, { root: scroller, rootMargin: "1200px 0px" });

  function show(group) {
    if (group.childElementCount) return;
    const start = Number(group.dataset.start);
    group.style.height = "";
    group.append(...events.slice(start, start + GROUP).map((event) => drawEvent(event, go, events)));
  }

  function empty(group) {
    if (!group.childElementCount) return;
    group.style.height = `${group.offsetHeight}px`;
    group.replaceChildren();
  }

  function go(place) {
    const group = groups[Math.floor(place / GROUP)];
    show(group);
    const node = group.children[place % GROUP];
    node.scrollIntoView({ block: "center" });
    root.querySelector(".found")?.classList.remove("found");
    node.classList.add("found");
  }

  for (let start = 0; start < events.length; start += GROUP) {
    const group = el("div", { className: "group" });
    group.dataset.start = start;
    group.style.height = `${Math.min(GROUP, events.length - start) * GUESS}px`;
    groups.push(group);
    watch.observe(group);
  }
  root.append(...groups);
  return { root, go, stop: () => watch.disconnect() };
}

function drawEvent(event, go, events) {
  if (event.t === "turn") return el("div", { className: "heading", textContent: event.text });
  const earlier = event.earlier ? " earlier" : "";
  if (event.t === "say") {
    return el("div", { className: `event ${event.role}${earlier}` },
      el("div", { className: "who", textContent: event.role }),
      event.text ? long("div", "text", event.text) : el("div", { className: "soft", textContent: "says nothing" }));
  }
  return el("div", { className: `event call${event.ok === false ? " failed" : ""}${earlier}` },
    callHead(event), callValues(event, go, events),
    event.result === null || event.result === undefined ? el("div", { className: "soft", textContent: "no result on record" }) : long("pre", "", event.result),
    (event.diff ?? []).map(drawChange),
    event.diff && !event.diff.length && event.ok ? el("div", { className: "soft", textContent: "state unchanged" }) : null);
}

function callHead(event) {
  const marks = [event.ok ? el("span", { className: "mark good", textContent: "ok" })
    : el("span", { className: "mark bad", textContent: event.code || "failed" })];
  if (event.stands) marks.push(el("span", { className: "mark", textContent: `stands for expected call ${event.stands}` }));
  if (event.why) marks.push(el("span", { className: event.level === 3 ? "soft" : "bad", textContent: event.why }));
  return el("div", { className: "head" }, el("span", { className: "who", textContent: event.n ? `call ${event.n}` : "call" }),
    el("code", { textContent: event.name }), marks);
}

function callValues(event, go, events) {
  if (event.arguments === null) {
    return [el("div", { className: "bad", textContent: `arguments can't be read: ${event.fault}` }), ...long("pre", "", event.raw)];
  }
  if (!event.arguments.length) return el("div", { className: "soft", textContent: "without arguments" });
  return el("div", { className: "values" }, event.arguments.map(([path, value, kind, from]) =>
    [el("span", { className: "mono", textContent: path }), el("span", { className: "mono", textContent: value }), originOf(kind, from, go, events)]));
}

const ORIGINS = { user: "said by the user", default: "the schema's default", choice: "a free choice", nowhere: "nobody gave this value" };

function originOf(kind, from, go, events) {
  const source = events[from];
  const told = kind === "result" ? `shown by ${source?.n ? `call ${source.n}, ` : ""}${source?.name ?? "an earlier result"}` : ORIGINS[kind];
  if (!source) return el("span", { className: kind === "nowhere" ? "bad" : "soft", textContent: told });
  return el("button", { className: "plain", textContent: told, title: "show it", click: () => go(from) });
}

function drawChange(change) {
  return el("div", { className: `change ${change.kind}` },
    el("div", {}, `${change.kind} `, el("code", { textContent: `${change.table} ${change.id}` })),
    el("div", { className: "fields mono" }, change.fields.map(([name, before, after]) => [
      el("span", { className: "soft", textContent: name }),
      el("span", { textContent: change.kind === "added" ? shown(after) : change.kind === "removed" ? shown(before) : `${shown(before)} → ${shown(after)}` })])));
}

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
