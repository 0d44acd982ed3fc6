// What changed in the company: rows before and after, and by whom.
import { details, h } from "./dom.js";
import { actorClass, actorName, clockTime, epoch, plural, visible } from "./format.js";
import { fieldName, fieldValue, flatten } from "./render.js";

// Values that a product keeps by itself say little to a reader.
const QUIET = new Set(["updated_at", "hs_lastmodifieddate", "lastmodifieddate", "seq", "generated_timestamp"]);
const MOST_FIELDS = 60;
const STAMPED = /(^|_)(at|created|updated|date|time|timestamp|start|end|since|until)$|date$/;
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
  const fields = fieldChanges(before, after);
  if (before && after) return imageTable(fields, before, after);
  // A row that was created or removed has one image: what says nothing, or says again, is folded.
  const [told, rest] = splitFields(fields, before ? "before" : "after");
  return [imageTable(told, before, after), rest.length ? details(`${plural(rest.length, "more field")}`, () => imageTable(rest, before, after)) : null];
}

function splitFields(fields, side) {
  const texts = new Set();
  const told = [];
  const rest = [];
  for (const field of fields) {
    const value = field[side];
    const text = typeof value === "string" && value.length > 20 ? bareText(value) : "";
    const isEmpty = value === null || value === undefined || value === "" || (typeof value === "object" && !Object.keys(value).length);
    (isEmpty || field.quiet || texts.has(text) ? rest : told).push(field);
    if (text) texts.add(text);
  }
  return [told, rest];
}

// The text of a body that a product keeps as HTML, too.
function bareText(text) {
  return text.slice(0, 5000).replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
}

function imageTable(fields, before, after) {
  const shown = fields.slice(0, MOST_FIELDS);
  const head = ["Field", before ? "Before" : null, after ? "After" : null].filter(Boolean);
  return h(
    "table",
    { class: before && after ? "change" : "change single" },
    h("colgroup", {}, h("col", { class: "change-name" }), head.slice(1).map(() => h("col"))),
    h("thead", { class: "hidden-visually" }, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
    h(
      "tbody",
      {},
      shown.map((field) =>
        h(
          "tr",
          { class: field.quiet ? "quiet-row" : "" },
          h("th", { scope: "row" }, fieldName(field.name.replace(/^(body|properties)\./, ""))),
          before ? h("td", { class: "before" }, shownValue(field.before, field.name)) : null,
          after ? h("td", { class: "after" }, shownValue(field.after, field.name)) : null,
        ),
      ),
      fields.length > shown.length ? h("tr", {}, h("td", { colspan: String(head.length) }, `and ${fields.length - shown.length} more fields`)) : null,
    ),
  );
}

function shownValue(value, name) {
  if (value === undefined || value === null) return h("span", { class: "muted" }, "∅");
  const isStamp = typeof value === "number" && STAMPED.test(name.split(".").pop()) && epoch(value) !== String(value);
  return isStamp ? h("time", { title: String(value) }, epoch(value)) : fieldValue(value);
}

export function renderChange(change, { marked = false, collateral = false, place = "" } = {}) {
  const verb = change.before ? (change.after ? "changed" : "removed") : "created";
  return h(
    "article",
    { class: `row-change ${verb}${marked ? " marked" : ""}${collateral ? " collateral" : ""}`, id: `row-${rowAnchor(change)}-${change.revision}` },
    h(
      "h4",
      {},
      actorBadge(change.actor),
      " ",
      h("span", { class: "verb" }, verb),
      " ",
      place ? h("a", { class: "row-name", href: `${place}/r/${encodeURIComponent(rowAnchor(change))}`, title: "The address of this row" }, visible(rowName(change))) : h("span", { class: "row-name" }, visible(rowName(change))),
      collateral ? h("span", { class: "pill bad" }, "collateral") : null,
    ),
    h("p", { class: "muted small" }, `${change.event} · ${clockTime(change.at)}`),
    changeTable(change.before, change.after),
  );
}

// The agent's own changes first; what time and automations did is folded.
export function renderChanges(changes, { row = "", collateral = new Set(), place = "" } = {}) {
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
    const draw = () => members.map((change) => renderChange(change, { marked: rowAnchor(change) === row, collateral: collateral.has(rowAnchor(change)), place }));
    if (rank(actor) < order.length || members.length === 1) return draw();
    return details([actorBadge(actor), ` ${plural(members.length, "row")}`], () => h("div", {}, draw()), holdsRow);
  });
}
