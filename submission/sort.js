function compare(a, b) {
  const [x, y] = [Number(a), Number(b)];
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
}

function value(row, column) {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent.trim();
  return text === "–" ? "" : text;
}

/* The first press sorts a column best first, the next one turns it. */
function sortBy(table, header) {
  const headers = [...table.tHead.rows[0].cells];
  const column = headers.indexOf(header);
  const before = header.getAttribute("aria-sort");
  const order = before ? (before === "ascending" ? "descending" : "ascending") : header.dataset.best;
  const turn = order === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
  rows.sort(([x], [y]) => (x === "" || y === "" ? (x === "") - (y === "") : turn * compare(x, y)));
  for (const other of headers) {
    other.removeAttribute("aria-sort");
    other.querySelector(".order")?.remove();
  }
  header.setAttribute("aria-sort", order);
  const told = document.createElement("small");
  told.className = "order";
  told.textContent = header.dataset[order] ?? (turn === 1 ? "lowest first" : "highest first");
  header.append(told);
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sortBy(button.closest("table"), button.closest("th")));
}
