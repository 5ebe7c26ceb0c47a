// Commits in doubt, what the doctor finds, and the slowest statements.

import { address, count, duration, find, make, ms, refusal, replace, sqlDetails, sqlList } from "./dom.js";

const LEVELS = { error: "bad", warning: "warn", note: "faint", ok: "good" };
const COLUMNS = [
  ["total_ms", "total", ms], ["mean_ms", "mean", ms], ["max_ms", "max", ms], ["calls", "calls", count], ["rows", "rows", count],
];
const STATEMENT = /^(ALTER|ANALYZE|CALL|COMMENT|CREATE|DROP|GRANT|REVOKE|SELECT|SET) .*;$/s;
const PLANNED = /^\s*\(*\s*(SELECT|WITH|VALUES|TABLE|INSERT|UPDATE|DELETE|MERGE)\b/i;
const NSHOWN = 15;
let order = "total_ms";
let newest = null;
const whole = new Set();

export function showCommits(commits) {
  const place = find("#commits .content");
  if (commits.error) {
    replace(place, refusal(commits));
    return;
  }
  const body = make("tbody");
  for (const one of commits.transactions) {
    const state = make("td", { className: one.in_doubt ? "bad" : "" }, one.in_doubt ? `in doubt: ${one.state}` : one.state);
    body.append(make("tr", {}, make("td", { className: "number" }, duration(one.seconds)), make("td", {}, one.node), state,
      make("td", {}, make("span", { className: "mono faint" }, one.name), make("small", {}, one.owner))));
  }
  const head = make("tr", {}, make("th", { className: "number" }, "age"), make("th", {}, "node"), make("th", {}, "state"), make("th", {}, "transaction"));
  const table = make("div", { className: "scroll" }, make("table", {}, make("thead", {}, head), body));
  replace(place, [
    ...commits.not_asked.map((one) => make("p", { className: "warn" }, `${one.node}: ${one.state}`)),
    commits.transactions.length ? table : make("p", { className: "faint" }, "No node holds a transaction prepared."),
    sqlDetails(commits.actions),
  ]);
}

function makeFinding(one) {
  const advice = STATEMENT.test(one.advice) ? sqlList([{ label: "", sql: one.advice }]) : make("p", { className: "faint" }, one.advice);
  return make("div", { className: "finding" }, make("span", { className: LEVELS[one.level] }, one.level),
    make("div", {}, make("p", {}, make("b", {}, `${one.where}, ${one.check}: `), one.text), one.advice ? advice : null));
}

export function showDoctor(found) {
  const place = find("#doctor .content");
  const again = make("button", { className: "small", type: "button", onclick: () => fetch(address("doctor")) }, "look again");
  if (found.running) {
    if (!place.querySelector(".finding")) place.replaceChildren(make("p", { className: "faint" }, "looking"));
    return;
  }
  if (found.error) {
    replace(place, [...refusal(found), again]);
    return;
  }
  const good = found.findings.filter((one) => one.level === "ok");
  const others = found.findings.filter((one) => one.level !== "ok");
  const at = new Date(found.at * 1000).toLocaleTimeString("en-GB");
  replace(place, [
    ...others.map(makeFinding),
    make("details", {}, make("summary", {}, `${count(good.length)} things are well`), make("div", {}, ...good.map(makeFinding))),
    make("p", { className: "faint" }, `Looked at ${at}, in ${found.took_s} s. `, again),
  ]);
}

export function doctorSummary(found) {
  if (!found || found.running) return ["…", "doctor"];
  if (found.error) return ["?", "doctor"];
  const number = (level) => found.findings.filter((one) => one.level === level).length;
  const [errors, warnings] = [number("error"), number("warning")];
  if (errors) return [count(errors), `doctor: error${errors > 1 ? "s" : ""}`, "bad"];
  if (warnings) return [count(warnings), `doctor: warning${warnings > 1 ? "s" : ""}`, "warn"];
  return ["well", "doctor", "good"];
}

function makeStatement(one) {
  const query = make("div", { className: "query mono" }, one.query + (one.cut ? " …" : ""));
  query.classList.toggle("whole", whole.has(one.id));
  const toggle = make("button", { type: "button", ariaExpanded: String(whole.has(one.id)), title: "the whole text" }, query);
  toggle.addEventListener("click", () => {
    if (!whole.delete(one.id)) whole.add(one.id);
    query.classList.toggle("whole", whole.has(one.id));
    toggle.setAttribute("aria-expanded", whole.has(one.id));
  });
  const row = make("tr", {}, make("td", {}, toggle));
  for (const [name, label, show] of COLUMNS) {
    const cell = make("td", { className: "number" }, show(one[name]));
    cell.dataset.label = label;
    row.append(cell);
  }
  const user = make("td", {}, one.user);
  user.dataset.label = "role";
  const plan = one.id && PLANNED.test(one.query) ? make("a", { className: "small", href: address("plan", { id: one.id, user: one.user_id }), target: "_blank", rel: "noopener" }, "plan") : null;
  row.append(user, make("td", {}, plan));
  return row;
}

export function showStatements(found = newest) {
  newest = found;
  const place = find("#statements .content");
  if (found.error) {
    replace(place, refusal(found));
    return;
  }
  const head = make("tr", {}, make("th", { scope: "col" }, "statement"));
  for (const [name, label] of COLUMNS) {
    const button = make("button", { type: "button", onclick: () => { order = name; showStatements(); } }, label);
    const cell = make("th", { scope: "col", className: "number" }, button);
    cell.setAttribute("aria-sort", name === order ? "descending" : "none");
    head.append(cell);
  }
  head.append(make("th", { scope: "col" }, "role"), make("th"));
  const sorted = [...found.statements].sort((a, b) => b[order] - a[order]).slice(0, NSHOWN);
  const table = make("table", { className: "statements" }, make("thead", {}, head), make("tbody", {}, ...sorted.map(makeStatement)));
  replace(place, [make("div", { className: "scroll" }, table), sqlDetails(found.actions)]);
}
