// What changed in the company: rows before and after, and by whom.
import { details, h } from "./dom.js";
import { actorClass, actorName, clockTime, plural, visible } from "./format.js";
import { fieldValue, flatten } from "./render.js";

// Values that a product keeps by itself say little to a reader.
const QUIET = new Set(["updated_at", "hs_lastmodifieddate", "lastmodifieddate", "seq", "generated_timestamp"]);
const MOST_FIELDS = 60;
const TIMES = /(^|_)(at|on|created|updated|date|time|timestamp|start|end|seq|posting|hours|minutes)$|date$|_at_|_ms$/;

export function actorBadge(actor) {
  return h("span", { class: `actor ${actorClass(actor)}` }, actorName(actor));
}

export function rowName(change) {
  return `${change.product} ${change.table} ${change.id}`;
}

export function rowAnchor(change) {
  return `${change.product}.${change.table}.${change.id}`;
}

export function fieldChanges(before, after) {
  const old = before ? flatten(before) : {};
  const now = after ? flatten(after) : {};
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names
    .filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
    .map((name) => ({ name, before: old[name], after: now[name], quiet: QUIET.has(name.split(".").pop()) }))
    .sort((a, b) => Number(a.quiet) - Number(b.quiet));
}

// Whether two images differ in nothing but times and what follows from them.
export function differsInTimeOnly(before, after) {
  const fields = fieldChanges(before, after);
  return Boolean(before && after) && fields.every((field) => TIMES.test(field.name.split(".").pop()) || field.name.endsWith("request.id"));
}

export function changeTable(before, after) {
  const isTold = (value) => value !== null && value !== undefined && value !== "";
  const fields = fieldChanges(before, after).filter((field) => (before && after) || isTold(before ? field.before : field.after));
  const shown = fields.slice(0, MOST_FIELDS);
  // A row that was created or removed has one image.
  const head = ["Field", before ? "Before" : null, after ? "After" : null].filter(Boolean);
  return h(
    "table",
    { class: before && after ? "change" : "change single" },
    h("thead", { class: "hidden-visually" }, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      shown.map((field) =>
        h(
          "tr",
          { class: field.quiet ? "quiet-row" : "" },
          h("th", { scope: "row" }, visible(field.name.replace(/^(body|properties)\./, ""))),
          before ? h("td", { class: "before" }, shownValue(field.before)) : null,
          after ? h("td", { class: "after" }, shownValue(field.after)) : null,
        ),
      ),
      fields.length > shown.length ? h("tr", {}, h("td", { colspan: String(head.length) }, `and ${fields.length - shown.length} more fields`)) : null,
    ),
  );
}

function shownValue(value) {
  return value === undefined || value === null ? h("span", { class: "muted" }, "∅") : fieldValue(value);
}

export function renderChange(change, { marked = false, collateral = false } = {}) {
  const verb = change.before ? (change.after ? "changed" : "removed") : "created";
  return h(
    "article",
    { class: `row-change ${verb}${marked ? " marked" : ""}${collateral ? " collateral" : ""}`, id: `row-${rowAnchor(change)}` },
    h(
      "h4",
      {},
      actorBadge(change.actor),
      " ",
      h("span", { class: "verb" }, verb),
      " ",
      h("span", { class: "row-name" }, visible(rowName(change))),
      collateral ? h("span", { class: "pill bad" }, "collateral") : null,
    ),
    h("p", { class: "muted small" }, `${change.event} · ${clockTime(change.at)}`),
    changeTable(change.before, change.after),
  );
}

// The agent's own changes first; what time and automations did is folded.
export function renderChanges(changes, { row = "", collateral = new Set() } = {}) {
  if (!changes.length) return h("p", { class: "muted" }, "No row changed at this step.");
  const groups = new Map();
  for (const change of changes) {
    if (!groups.has(change.actor)) groups.set(change.actor, []);
    groups.get(change.actor).push(change);
  }
  const order = ["agent", "agent's job", "customer", "colleague"];
  const rank = (actor) => (order.includes(actor) ? order.indexOf(actor) : order.length);
  const actors = [...groups.keys()].sort((a, b) => rank(a) - rank(b));
  return actors.map((actor) => {
    const members = groups.get(actor);
    const holdsRow = members.some((change) => rowAnchor(change) === row);
    const draw = () => members.map((change) => renderChange(change, { marked: rowAnchor(change) === row, collateral: collateral.has(rowAnchor(change)) }));
    if (rank(actor) < order.length || members.length === 1) return draw();
    return details([actorBadge(actor), ` ${plural(members.length, "row")}`], () => h("div", {}, draw()), holdsRow);
  });
}
