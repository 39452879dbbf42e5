"use strict";
// Tables get buttons that sort them and, if they are long, a field that filters their rows.
const LONG = 12;
const LEADING = /^[<>\[(+\s]*(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)/i;

function numberOf(text) {
  const found = LEADING.exec(text.replace(/\u2212/g, "-"));
  if (!found) return NaN;
  const value = Number(found[1].replace(/,/g, ""));
  return text.startsWith("<") ? value - 1e-12 : text.startsWith(">") ? value + 1e-12 : value;
}

function keyOf(row, column, isNumeric) {
  const text = row.cells[column].textContent.trim();
  return isNumeric ? numberOf(text) : text;
}

function compare(a, b, isNumeric) {
  return isNumeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
}

function isUndefined(key) {
  return Number.isNaN(key) || key === "" || key === "\u2013";
}

// Undefined cells are last in both directions, and equal cells keep their order.
function sorted(rows, column, isNumeric, direction) {
  const keyed = rows.map((row) => ({ row, key: keyOf(row, column, isNumeric) }));
  keyed.sort((x, y) => {
    const last = isUndefined(x.key) - isUndefined(y.key);
    return last || (isUndefined(x.key) ? 0 : direction * compare(x.key, y.key, isNumeric));
  });
  return keyed.map((item) => item.row);
}

function addSorting(table, rows) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const isNumeric = head.classList.contains("right");
    const order = isNumeric ? ["descending", "ascending"] : ["ascending", "descending"];
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const next = order[order.indexOf(head.getAttribute("aria-sort")) + 1];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const direction = next === "descending" ? -1 : 1;
      table.tBodies[0].append(...(next ? sorted(rows, column, isNumeric, direction) : rows));
    });
  });
}

function addFilter(table, rows) {
  const box = document.createElement("p");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  box.className = "filter";
  input.type = "search";
  label.append("Filter rows ", input);
  box.append(label, " ", count);
  table.parentElement.before(box);
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let n = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      n += !row.hidden;
    }
    count.textContent = `${n} of ${rows.length} rows`;
  };
  input.addEventListener("input", show);
  show();
}

for (const table of document.querySelectorAll("table")) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length > 1) addSorting(table, rows);
  if (rows.length > LONG) addFilter(table, rows);
}
