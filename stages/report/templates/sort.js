// A click on a heading sorts its table by that column, a second click the other way round.
for (const head of document.querySelectorAll("table.sortable th")) {
  head.tabIndex = 0;
  const sort = () => {
    const rising = head.getAttribute("aria-sort") === "descending";
    for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    const body = head.closest("table").tBodies[0];
    const key = (row) => {
      const text = row.cells[head.cellIndex].textContent.trim();
      const value = parseFloat(text.replace(/,/g, ""));
      return Number.isNaN(value) ? text : value;
    };
    const order = (a, b) => {
      const x = key(a), y = key(b);
      if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1;  // what has no number stays below
      const by = typeof x === "number" ? x - y : x.localeCompare(y);
      return rising ? by : -by;
    };
    body.append(...[...body.rows].sort(order));
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
}
