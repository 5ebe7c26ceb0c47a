// The map: a row a table, a column a node, and what moves between them.

import { address, bytes, count, duration, find, keep, keepRows, make, meter, opener, replace, sqlDetails, sqlList, write } from "./dom.js";

let shown = { nodes: [], tables: [] };
let moving = [];

const PAGE_BYTES = 8192;
// By the logarithm: beside a large table, small ones still differ.
const level = (value, most) => (value ? 0.08 + (0.92 * Math.log1p(value / PAGE_BYTES)) / Math.log1p(most / PAGE_BYTES) : 0);
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function totals(node) {
  let tablets = 0;
  let size = 0;
  for (const table of shown.tables) {
    for (const cell of table.cells) {
      if (cell.node === node) {
        tablets += cell.tablets;
        size += cell.bytes ?? 0;
      }
    }
  }
  return `${plural(tablets, "tablet")}, ${bytes(size)}`;
}

function showHead() {
  const row = make("tr", {}, make("th", { scope: "col" }, "table"), make("th", { scope: "col" }, "key"));
  for (const node of shown.nodes) {
    row.append(make("th", { scope: "col", className: "cell" }, node, make("small", {}, totals(node))));
  }
  find("#map thead").replaceChildren(row);
}

function fillCell(cell, found, most) {
  cell.style.setProperty("--level", level(found?.bytes, most));
  if (!found) {
    cell.replaceChildren(make("span", { className: "faint" }, "–"));
    return;
  }
  cell.title = `${plural(found.tablets, "tablet")}, ${count(found.rows)} rows, largest ${bytes(found.largest)}`;
  cell.replaceChildren(bytes(found.bytes), make("small", {}, count(found.tablets)));
}

function makeRow(table) {
  const row = make("tr");
  row.dataset.key = table.id;
  const name = make("td");
  const key = make("td", { className: "kind" });
  const cells = shown.nodes.map(() => make("td", { className: "cell" }));
  row.append(name, key, ...cells);
  const title = table.kind === "distributed" ? opener(table.name, row, (below) => showTablets(below, row.table)) : make("span", {}, table.name);
  const badge = make("span", { className: "badge" });
  name.append(title, badge);
  row.update = (now) => {
    row.table = now;
    row.classList.toggle("next", now.isNext);
    write(title, now.name);
    write(key, now.kind === "reference" ? "a copy each" : now.key);
    badge.hidden = !now.isMoving;
    write(badge, "moving");
    shown.nodes.forEach((node, i) => {
      const found = now.kind === "reference" ? { bytes: now.bytes, tablets: 1, rows: null, largest: now.bytes } : now.cells.find((one) => one.node === node);
      fillCell(cells[i], found, now.most);
    });
  };
  return row;
}

export function showMap(map) {
  if (map.error) {
    replace(find("#map .actions"), [make("p", { className: "bad" }, map.error)]);
    return;
  }
  const isNew = map.nodes.join() !== shown.nodes.join();
  shown = map;
  if (isNew) find("#map tbody").replaceChildren();
  showHead();
  showTables();
  replace(find("#map .actions"), [sqlDetails(map.actions)]);
}

function isMoving(table) {
  return moving.some((move) => move.table_id === table.id);
}

export function showTables() {
  const wanted = find("#filter").value.trim().toLowerCase();
  const tables = shown.tables.filter((table) => table.name.toLowerCase().includes(wanted));
  const most = Math.max(1, ...shown.tables.flatMap((table) => [table.bytes ?? 0, ...table.cells.map((cell) => cell.bytes ?? 0)]));
  let before = null;
  for (const table of tables) {
    const group = `${table.kind} ${table.group}`;
    Object.assign(table, { most, isNext: before !== null && group !== before, isMoving: isMoving(table) });
    before = group;
  }
  keepRows(find("#map tbody"), tables, (table) => table.id, makeRow);
  if (!tables.length) {
    const text = shown.tables.length ? "No table has this in its name." : "No table is distributed.";
    find("#map tbody").replaceChildren(make("tr", {}, make("td", { className: "faint", colSpan: 2 + shown.nodes.length }, text)));
  }
}

function showOne(place, tablet) {
  place.replaceChildren(
    make("p", {}, make("b", { className: "mono" }, tablet.name), ` on ${tablet.node}: ${count(tablet.rows)} rows, ${bytes(tablet.bytes)} `,
      make("span", { className: "faint mono" }, tablet.bounds)),
    sqlList(tablet.actions),
  );
}

// Arrows go from square to square, so that Tab has one stop for all.
function step(event) {
  const squares = [...event.currentTarget.closest("td").querySelectorAll(".squares button")];
  const now = squares.indexOf(document.activeElement);
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (by === undefined || now < 0) return;
  event.preventDefault();
  squares[Math.max(0, Math.min(squares.length - 1, now + by))].focus();
}

async function showTablets(below, table) {
  below.append(make("p", { className: "faint" }, "reading"));
  let found;
  try {
    found = await (await fetch(address("tablets", { table: table.id }))).json();
  } catch {
    found = { error: "The console cannot be reached." };
  }
  if (found.error) {
    below.replaceChildren(make("p", { className: "bad" }, found.error));
    return;
  }
  const most = Math.max(1, ...found.map((tablet) => tablet.bytes ?? 0));
  const place = make("div", { role: "status" });
  below.replaceChildren();
  for (const node of shown.nodes) {
    const own = found.filter((tablet) => tablet.node === node);
    if (!own.length) continue;
    const squares = make("div", { className: "squares", onkeydown: step });
    squares.setAttribute("role", "group");
    squares.setAttribute("aria-label", `tablets on ${node}`);
    for (const tablet of own) {
      const button = make("button", { type: "button", title: `${tablet.name}: ${bytes(tablet.bytes)}`, ariaLabel: tablet.name });
      button.tabIndex = tablet === found[0] ? 0 : -1;
      button.style.setProperty("--level", level(tablet.bytes, most));
      button.addEventListener("click", () => {
        for (const other of below.querySelectorAll(".squares button")) other.setAttribute("aria-pressed", other === button);
        showOne(place, tablet);
      });
      squares.append(button);
    }
    below.append(make("div", { className: "faint" }, `${node}: ${plural(own.length, "tablet")}`), squares);
  }
  below.append(place);
  if (found.length) showOne(place, found[0]);
}

function makeMove() {
  const text = make("span");
  const bar = make("span");
  const number = make("span", { className: "number" });
  const details = make("details", {}, make("summary", {}, "statement"), make("code"), make("div"));
  const made = make("div", { className: "move" }, text, bar, number, details);
  let sql = "";
  made.update = (move) => {
    const of = move.moves > 1 ? `, ${move.move} of ${move.moves}` : "";
    text.replaceChildren(make("b", {}, move.name), ` ${move.command}${of}: ${move.phase ?? ""}`);
    bar.replaceChildren(meter((move.percent ?? 0) / 100));
    const size = move.bytes ? `, ${bytes(move.bytes)}` : "";
    write(number, `${move.percent === null ? "" : `${Math.round(move.percent)} %`}${size}, ${duration(move.seconds)}`);
    write(details.children[1], move.query || "This role may not see it.");
    if (sql !== move.actions[0].sql) {
      sql = move.actions[0].sql;
      details.children[2].replaceChildren(sqlList(move.actions));
    }
  };
  return made;
}

export function showMoves(moves) {
  moving = moves.error ? [] : moves;
  if (moves.error) find("#moves").replaceChildren(make("p", { className: "bad" }, moves.error));
  else keep(find("#moves"), moves, (move) => move.pid, makeMove);
  showTables();
}

export function summary() {
  const tablets = shown.tables.flatMap((table) => table.cells).reduce((sum, cell) => sum + cell.tablets, 0);
  const moves = moving.length ? `, ${moving.length} moving` : "";
  return [count(tablets), `tablets of ${plural(shown.tables.length, "table")}${moves}`];
}
