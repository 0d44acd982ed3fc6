// Two attempts at one instance: aligned calls, the first divergence, and the rows that ended differently.
import { details, h, replace } from "./dom.js";
import { oneLine, percent, plural, reward, visible } from "./format.js";
import { downloadShare, getComparison, getEpisode, getEpisodes, isShared } from "./api.js";
import { prettyJson } from "./render.js";
import { changeTable, differsInTimeOnly } from "./rows.js";
import { outcomePill } from "./list.js";

// A product's own books follow from what was done; they come last, folded.
const MOST_OPEN = 12;
const BOOKS = new Set(["events", "audits", "journal", "metric_events", "sla_targets", "balance_transactions"]);

export async function renderCompare(container, context, { left, right }) {
  if (!right || right === "-") return renderChoice(container, left);
  const comparison = await getComparison(left, right);
  const { calls } = comparison;
  const first = comparison.first_divergence;
  const same = calls.filter((call) => call.kind === "same").length;
  replace(
    container,
    h(
      "div",
      { class: "compare" },
      h("h1", {}, "Compare"),
      comparison.same_instance ? null : h("p", { class: "note" }, "These are attempts at different instances: rows and answers differ anyway."),
      comparison.same_instance && !comparison.same_world ? h("p", { class: "note" }, "The worlds have different fingerprints.") : null,
      h("div", { class: "sides" }, side(comparison.left, "Left"), side(comparison.right, "Right")),
      isShared ? null : h("p", { class: "actions" }, h("button", { type: "button", class: "button", onclick: () => downloadShare([left, right], true) }, "Share both as a file (redacted)")),
      h("h2", {}, `Calls: ${same} of ${calls.length} are the same (${percent(same / Math.max(1, calls.length))})`),
      h("p", {}, first === null ? "No call diverges." : h("a", { href: `#divergence`, onclick: jumpToDivergence }, `First divergence at line ${first + 1}`)),
      h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Aligned calls" }, callTable(comparison, first)),
      h("h2", {}, `Final worlds: ${comparison.rows.length === 1 ? "1 row differs" : `${comparison.rows.length} rows differ`}`),
      comparison.rows_known ? worldDifferences(comparison.rows) : h("p", { class: "note" }, "At least one of the recordings holds no row changes."),
    ),
  );
}

function jumpToDivergence(event) {
  event.preventDefault();
  document.getElementById("divergence")?.scrollIntoView({ block: "center" });
}

function side(summary, label) {
  return h(
    "article",
    { class: "card" },
    h("h2", {}, `${label}: `, h("a", { href: `#/e/${encodeURIComponent(summary.key)}` }, visible(summary.policy), " ", visible(summary.version), ` attempt ${summary.attempt}`)),
    h("p", {}, outcomePill(summary), " ", h("span", { class: "reward" }, reward(summary.reward)), ` · ${plural(summary.steps, "step")} · ${plural(summary.changed_rows, "row")}`),
    h("p", { class: "muted" }, visible(summary.because)),
  );
}

function callTable({ calls, left, right }, first) {
  const body = h("tbody", {});
  let run = [];
  const flush = () => {
    if (run.length > 3) body.append(h("tr", {}, h("td", { colspan: "4", class: "fold" }, details(`${run.length} same calls`, () => h("table", { class: "plain wide" }, h("tbody", {}, run.map((call) => callRow(call, left, right))))))));
    else run.forEach((call) => body.append(callRow(call, left, right)));
    run = [];
  };
  calls.forEach((call, index) => {
    if (index === first) {
      flush();
      const row = callRow(call, left, right);
      row.id = "divergence";
      row.classList.add("divergence");
      body.append(row);
    } else if (call.kind === "same" && call.same_answer) run.push(call);
    else {
      flush();
      body.append(callRow(call, left, right));
    }
  });
  flush();
  return h("table", { class: "plain wide calls" }, h("thead", {}, h("tr", {}, ["", "Left", "Right", "Arguments"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden-visually" }, "Kind"))))), body);
}

function callRow(call, left, right) {
  const signs = { same: call.same_answer ? "=" : "≈", changed: "≠", left: "←", right: "→" };
  const names = { same: call.same_answer ? "same call, same answer" : "same call, another answer", changed: "other arguments", left: "left only", right: "right only" };
  const cell = (head, summary) => h("td", {}, head ? h("a", { href: `#/e/${encodeURIComponent(summary.key)}/s/${head.number}` }, `${head.number} `, h("span", { class: "mono" }, visible(head.operation)), h("span", { class: "muted" }, ` ${head.status || ""}`)) : "");
  return h(
    "tr",
    { class: `call ${call.kind}${call.same_answer ? "" : " other-answer"}` },
    h("td", {}, h("span", { role: "img", "aria-label": names[call.kind], title: names[call.kind] }, signs[call.kind])),
    cell(call.left, left),
    cell(call.right, right),
    h("td", { class: "small" }, argumentsOf(call)),
  );
}

function argumentsOf(call) {
  if (call.kind !== "changed") return oneLine(call.left_arguments ?? call.right_arguments ?? {}, 100);
  return details("differ", () => changeTable(call.left_arguments, call.right_arguments));
}

// The same call a second later leaves another time in a row: such differences are folded.
function worldDifferences(rows) {
  const timed = rows.filter((row) => differsInTimeOnly(row.left, row.right));
  const isBook = (row) => BOOKS.has(row.table);
  const told = rows.filter((row) => !timed.includes(row) && !isBook(row));
  const books = rows.filter((row) => !timed.includes(row) && isBook(row));
  const rest = told.slice(MOST_OPEN);
  return [told.slice(0, MOST_OPEN).map(rowDifference), rest.length ? details(`${plural(rest.length, "more row")}`, () => h("div", {}, rest.map(rowDifference))) : null, books.length ? details(`${plural(books.length, "row")} of the products’ own books (${[...new Set(books.map((row) => row.table))].join(", ")})`, () => h("div", {}, books.map(rowDifference))) : null, timed.length ? details(`${plural(timed.length, "row")} with other times only`, () => h("div", {}, timed.map(rowDifference))) : null];
}

function rowDifference(row) {
  const where = row.left_touched && row.right_touched ? "changed by both" : row.left_touched ? "changed on the left only" : "changed on the right only";
  return h(
    "article",
    { class: "row-change" },
    h("h3", {}, visible(`${row.product} ${row.table} ${row.id}`), h("span", { class: "muted small" }, ` ${where} · left → right`)),
    row.left || row.right ? changeTable(row.left, row.right) : h("p", { class: "muted" }, "Removed on both sides."),
    row.before ? details("Before both", () => prettyJson(row.before)) : null,
  );
}

async function renderChoice(container, left) {
  const { summary } = await getEpisode(left);
  const { rows } = await getEpisodes({ group: summary.group, limit: 200 });
  const others = rows.filter((row) => row.key !== left);
  replace(
    container,
    h("div", { class: "compare" }, h("h1", {}, `Compare with which attempt at ${visible(summary.family)} ${summary.seed}?`),
      others.length ? h("ul", { class: "choices-list" }, others.map((row) => h("li", {}, outcomePill(row), " ", h("a", { href: `#/compare/${encodeURIComponent(left)}/${encodeURIComponent(row.key)}` }, `${visible(row.policy)} ${visible(row.version)} attempt ${row.attempt}`), ` ${reward(row.reward)}, ${plural(row.steps, "step")}`))) : h("p", { class: "muted" }, "There is no other attempt at this instance.")),
  );
}
