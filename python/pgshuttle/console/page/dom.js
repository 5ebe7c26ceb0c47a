// Elements, numbers and SQL to copy. All text goes in as text, never as HTML.

export const find = (selector, below = document) => below.querySelector(selector);

export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Keeps one child a key, in order: an element that has the focus stays the same element.
export function keep(parent, items, keyOf, create) {
  const old = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let last = null;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = old.get(key);
    old.delete(key);
    if (!child) {
      child = create(item);
      child.dataset.key = key;
    }
    const next = last ? last.nextSibling : parent.firstChild;
    if (child !== next) parent.insertBefore(child, next);
    last = child;
    child.update?.(item);
  }
  for (const child of old.values()) child.remove();
}

// Content that is built anew must not take what the user opened, or where the focus is.
export function replace(place, parts) {
  const open = [...place.querySelectorAll("details")].map((one) => one.open);
  const focused = place.contains(document.activeElement) ? [...place.querySelectorAll("button, a, summary")].indexOf(document.activeElement) : -1;
  place.replaceChildren(...parts.filter(Boolean));
  place.querySelectorAll("details").forEach((one, i) => (one.open = open[i] ?? one.open));
  if (focused >= 0) place.querySelectorAll("button, a, summary")[focused]?.focus();
}

export function count(value) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < 10) return String(Math.round(value * 10) / 10);
  return Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let number = value;
  let unit = 0;
  while (number >= 1000 && unit < units.length - 1) {
    number /= 1000;
    unit += 1;
  }
  return `${number < 10 && unit ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
}

export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 10000) return duration(value / 1000);
  return value < 100 ? `${Number(value.toPrecision(3))} ms` : `${Math.round(value)} ms`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 100) return `${Math.max(0, Math.floor(seconds))} s`;
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

export function meter(part, isFull = false) {
  const bar = make("i");
  bar.style.setProperty("--part", Math.max(0, Math.min(1, part)));
  return make("span", { className: isFull ? "meter full" : "meter", ariaHidden: "true" }, bar);
}

async function copy(button, code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "selected";
  }
  setTimeout(() => (button.textContent = "copy"), 1500);
}

// What can be done, as SQL: label, statement, and a button that copies it.
export function sqlList(actions) {
  const list = make("div", { className: "sql" });
  for (const action of actions) {
    const code = make("code", {}, action.sql);
    const button = make("button", { className: "small", type: "button" }, "copy");
    button.setAttribute("aria-label", `copy: ${action.label || action.sql}`);
    button.addEventListener("click", () => copy(button, code));
    if (action.label) list.append(make("span", { className: "faint" }, action.label));
    else list.classList.add("bare");
    list.append(code, button);
  }
  return list;
}

export function sqlDetails(actions, title = "SQL to run") {
  if (!actions.length) return null;
  return make("details", {}, make("summary", {}, title), sqlList(actions));
}

// A line that opens another one below it.
export function opener(text, row, fill) {
  const button = make("button", { className: "open", type: "button", ariaExpanded: "false" });
  const close = () => {
    row.detail?.remove();
    row.detail = null;
    button.setAttribute("aria-expanded", "false");
  };
  const open = () => {
    const cell = make("td", { colSpan: row.children.length });
    row.detail = make("tr", { className: "detail" }, cell);
    row.detail.dataset.key = `${row.dataset.key} detail`;
    row.detail.close = () => {
      close();
      button.focus();
    };
    row.after(row.detail);
    button.setAttribute("aria-expanded", "true");
    fill(cell);
  };
  button.addEventListener("click", () => (row.detail ? close() : open()));
  write(button, text);
  return button;
}

// Rows with those that are open below them, for keep().
export function keepRows(body, items, keyOf, create) {
  const details = [...body.children].filter((row) => row.detail).map((row) => [row, row.detail]);
  for (const [, detail] of details) detail.remove();
  keep(body, items, keyOf, create);
  for (const [row, detail] of details) {
    if (row.isConnected) row.after(detail);
  }
}

export function refusal(topic) {
  const parts = [make("p", {}, topic.error)];
  if (topic.actions?.length) parts.push(sqlList(topic.actions));
  return parts;
}

const token = new URLSearchParams(location.search).get("token") ?? "";

export function address(path, values = {}) {
  const query = new URLSearchParams(token ? { token, ...values } : values).toString();
  return query ? `${path}?${query}` : path;
}
