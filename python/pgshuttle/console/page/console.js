// Events of the console come in here, and go to the parts of the page.

import { address, count, duration, find, make, ms } from "./dom.js";
import { doctorSummary, showCommits, showDoctor, showStatements } from "./lists.js";
import { showNodes, stateText } from "./nodes.js";
import { showMap, showMoves, showTables, summary } from "./tablets.js";

const PARTS = ["nodes", "map", "commits", "doctor", "statements"];
const QUIET_MS = 6000; // without a word the console is thought to be gone
const topics = {};
let heardAt = Date.now();
let isEnded = false;

function showQuery(query) {
  const rights = query.is_superuser ? " (superuser)" : "";
  find("#place").textContent = query.database ? `database ${query.database} of ${query.host}, as ${query.user}${rights}` : "";
  document.title = query.database ? `${query.database} · pg_shuttle` : "pg_shuttle";
}

const SHOW = {
  query: showQuery,
  nodes: (nodes) => showNodes(nodes, topics.query),
  map: showMap,
  moves: showMoves,
  commits: showCommits,
  doctor: showDoctor,
  statements: (found) => showStatements(found),
};

function tileOf(part) {
  const nodes = (topics.nodes ?? []).filter((node) => node.kind !== "query");
  const well = nodes.filter((node) => node.state === "up" || node.state === "paused").length;
  const requests = nodes.reduce((sum, node) => sum + node.requests, 0);
  const commits = topics.commits?.transactions ?? [];
  const doubtful = commits.filter((one) => one.in_doubt).length;
  const statements = topics.statements?.statements ?? [];
  if (part === "nodes") {
    const state = nodes.some((node) => node.state === "away") ? "bad" : "";
    return [`${well} of ${nodes.length} up`, `nodes, ${count(requests)} requests /s`, state];
  }
  if (part === "map") return summary();
  if (part === "doctor") return doctorSummary(topics.doctor);
  if (part === "commits") return topics.commits?.error ? ["?", "commits"] : [count(doubtful), `in doubt, ${count(commits.length)} prepared`, doubtful ? "bad" : ""];
  return [statements.length ? ms(Math.max(...statements.map((one) => one.mean_ms))) : "–", "slowest statement, on average"];
}

function showTiles() {
  const tiles = find("#tiles");
  PARTS.forEach((part, i) => {
    const tile = tiles.children[i] ?? tiles.appendChild(make("a", { href: `#${part}` }, make("b"), make("small")));
    const [value, label, state] = tileOf(part);
    const [big, small] = tile.children;
    if (big.textContent !== value) big.textContent = value;
    if (small.textContent !== label) small.textContent = label;
    big.className = state ?? "";
  });
}

function listAlerts() {
  const found = [];
  if (isEnded || Date.now() - heardAt > QUIET_MS) {
    found.push(["The console does not answer.", "What is shown is old. If it was started again, use its new address."]);
    return found;
  }
  if (topics.query?.is_up === false) {
    const age = duration(Date.now() / 1000 - topics.query.since);
    found.push([`The query node is away for ${age}.`, topics.query.error]);
  }
  for (const node of topics.nodes ?? []) {
    if (node.state === "away" && topics.query?.is_up) found.push([`${node.name} is ${stateText(node)}.`, node.error]);
    if (node.state === "paused") found.push([`${node.name} is paused.`, "New transactions wait.", "mild"]);
  }
  const doubtful = (topics.commits?.transactions ?? []).filter((one) => one.in_doubt).length;
  if (doubtful) found.push([`${doubtful} commit${doubtful > 1 ? "s" : ""} in doubt.`, "Recovery finishes them when their nodes answer.", "mild"]);
  return found;
}

function showAlerts() {
  const text = JSON.stringify(listAlerts());
  const place = find("#alerts");
  if (place.shown === text) return;
  place.shown = text;
  place.replaceChildren(...listAlerts().map(([what, why, kind]) => make("p", { className: kind ?? "" }, `${what} `, make("span", {}, why))));
}

function showPulse() {
  const pulse = find("#pulse");
  const isLost = isEnded || Date.now() - heardAt > QUIET_MS || topics.query?.is_up === false;
  pulse.className = isLost ? "lost" : "live";
  const text = isLost ? "not live" : "live";
  if (pulse.textContent !== text) pulse.textContent = text;
}

function showAll() {
  showTiles();
  showAlerts();
  showPulse();
}

function listen() {
  const source = new EventSource(address("events"));
  const hear = () => {
    heardAt = Date.now();
    isEnded = false;
  };
  source.addEventListener("beat", hear);
  source.addEventListener("error", () => {
    isEnded = source.readyState === EventSource.CLOSED;
    if (isEnded) setTimeout(listen, 3000);
    showAll();
  });
  for (const topic of Object.keys(SHOW)) {
    source.addEventListener(topic, (event) => {
      hear();
      topics[topic] = JSON.parse(event.data);
      SHOW[topic](topics[topic]);
      showAll();
    });
  }
}

function closeOpen() {
  const open = document.activeElement.closest("tr.detail") ?? find("tr.detail");
  open?.close();
  if (!open) document.activeElement.blur();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target.matches("input");
  if (event.key === "Escape") {
    if (isTyping) {
      event.target.value = "";
      showTables();
    }
    closeOpen();
  } else if (!isTyping && event.key === "/") {
    event.preventDefault();
    find("#filter").focus();
  } else if (!isTyping && PARTS[Number(event.key) - 1]) {
    const part = find(`#${PARTS[Number(event.key) - 1]}`);
    part.scrollIntoView();
    part.focus({ preventScroll: true });
  }
});
find("#filter").addEventListener("input", showTables);
setInterval(showAll, 1000);
showAll();
listen();
