// The table of nodes: what each is, and what it is asked for a second.

import { bytes, count, duration, find, keepRows, make, meter, ms, opener, sqlList, write } from "./dom.js";

const SECONDS = 60; // that a graph shows
const NEARLY_FULL = 0.8;
const history = new Map();
const SVG = "http://www.w3.org/2000/svg";

function makeGraph() {
  const graph = document.createElementNS(SVG, "svg");
  graph.setAttribute("class", "spark");
  graph.setAttribute("viewBox", `0 0 ${SECONDS - 1} 20`);
  graph.setAttribute("preserveAspectRatio", "none");
  graph.setAttribute("aria-hidden", "true");
  graph.append(document.createElementNS(SVG, "polyline"));
  return graph;
}

function drawGraph(graph, values) {
  const most = Math.max(1, ...values);
  const start = SECONDS - values.length;
  const points = values.map((value, i) => `${start + i},${19 - (18 * value) / most}`);
  graph.firstChild.setAttribute("points", points.join(" "));
}

export function stateText(node) {
  const age = node.since ? ` for ${duration(Date.now() / 1000 - node.since)}` : "";
  if (node.state === "away") return `away${age}`;
  return node.state === "unknown" ? "not asked" : node.state;
}

function fillConnections(cell, node) {
  if (node.connections === null || node.connections === undefined) {
    cell.replaceChildren("–");
    return;
  }
  const part = node.connections / node.max_connections;
  cell.replaceChildren(meter(part, part > NEARLY_FULL), `${count(node.connections)} of ${count(node.max_connections)}`);
}

function makeRow(node) {
  const cell = (label, className = "") => {
    const made = make("td", { className });
    if (label) made.dataset.label = label;
    return made;
  };
  const row = make("tr");
  row.dataset.key = node.name;
  const [name, role, host, trip, connections, prepared] = [
    cell(""), cell("role"), cell("host", "wide"), cell("round trip", "number"),
    cell("connections", "wide"), cell("prepared", "number"),
  ];
  const [requests, graph, read, sent, waiting] = [
    cell("requests /s", "number"), cell("", "graph"), cell("read /s", "number"),
    cell("sent /s", "number"), cell("waiting", "number"),
  ];
  row.append(name, role, host, trip, connections, prepared, requests, graph, read, sent, waiting);
  const title = node.actions.length ? opener(node.name, row, (below) => below.append(...describe(row.node))) : make("b", {}, node.name);
  const state = make("small", { className: "state" });
  name.append(title, state);
  const spark = makeGraph();
  if (node.kind !== "query") graph.append(spark);
  row.update = (now) => {
    row.node = now;
    row.classList.toggle("away", now.state === "away");
    state.className = `state ${now.state}`;
    write(state, now.kind === "query" ? "this server" : stateText(now));
    role.replaceChildren(now.role || "–", make("small", {}, now.version ? `PostgreSQL ${now.version.split(" ")[0]}` : ""));
    host.replaceChildren(now.host, make("small", {}, [now.database, now.tags].filter(Boolean).join(" · ")));
    fillConnections(connections, now);
    write(prepared, now.max_prepared === null || now.max_prepared === undefined ? "–" : `${count(now.prepared)} of ${count(now.max_prepared)}`);
    if (now.kind === "query") return;
    write(trip, now.trip_ms ? ms(now.trip_ms) : "–");
    write(requests, count(now.requests));
    write(read, bytes(now.received));
    write(sent, bytes(now.sent));
    write(waiting, now.waiting.toFixed(now.waiting < 10 ? 2 : 0));
    drawGraph(spark, history.get(now.name) ?? []);
  };
  return row;
}

function describe(node) {
  const parts = [];
  if (node.error) parts.push(make("p", { className: node.state === "away" ? "bad" : "faint" }, node.error));
  parts.push(sqlList(node.actions));
  return parts;
}

export function showNodes(nodes, query) {
  for (const node of nodes) {
    const values = history.get(node.name) ?? [];
    values.push(node.requests ?? 0);
    history.set(node.name, values.slice(-SECONDS));
  }
  keepRows(find("#nodes tbody"), nodes, (node) => node.name, makeRow);
  const note = find("#nodes .note");
  const notes = [];
  const unasked = nodes.find((node) => node.kind !== "query" && node.state === "unknown" && node.error);
  if (unasked) notes.push(`Nodes are not asked: ${unasked.error}.`);
  if (query?.counts_all === false) notes.push("Requests are those of this console alone: pg_shuttle is not in shared_preload_libraries.");
  write(note, notes.join(" "));
  note.hidden = !notes.length;
}
