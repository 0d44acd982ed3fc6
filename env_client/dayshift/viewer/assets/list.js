// The list of episodes and of groups, with filters.
import { debounce, h, replace, virtualList } from "./dom.js";
import { count, dollars, duration, percent, plural, reward, visible } from "./format.js";
import { downloadShare, getEpisodes, getGroups, getReviews, isShared } from "./api.js";

const PAGE = 100;
const MOST_SHARED = 50;
const FILTERS = ["outcome", "family", "policy", "version", "product", "split", "flag", "fault", "label", "run"];
const RANGES = [["min_steps", "Steps from"], ["max_steps", "to"], ["min_reward", "Reward from"], ["max_reward", "to"], ["seed", "Seed"]];
const COLUMNS = [
  ["outcome", "Outcome"],
  ["reward", "Reward"],
  ["family", "Task"],
  ["policy", "Policy"],
  ["steps", "Steps"],
  ["rows", "Rows"],
  ["tokens", "Tokens"],
  ["cost", "Cost"],
  ["time", "Time"],
];
const GROUP_COLUMNS = [
  ["family", "Task"],
  ["attempts", "Attempts"],
  ["passed", "Passed"],
  ["pass_at_k", "pass@k"],
  ["pass_power_k", "pass^k"],
  ["mean_reward", "Mean reward"],
  ["spread", "Spread"],
];

export function outcomePill(row) {
  const name = row.outcome === "unscored" && row.blame && row.blame !== "harness" ? `unscored (${row.blame})` : row.outcome;
  return h("span", { class: `pill ${row.outcome}` }, name);
}

function rewardClass(value) {
  return value > 0 ? "up" : value < 0 ? "down" : "";
}

export async function renderList(container, context) {
  const query = new URLSearchParams(context.query);
  const view = query.get("view") || "episodes";
  // The keys h and l follow this list; a review that somebody left for it has ended.
  context.listQuery = view === "groups" ? "" : listQuery(query);
  context.endReview();
  const results = h("div", { class: "results" });
  const strip = h("div", { class: "strip" });
  const filters = h("div", { class: "filters" });
  replace(container, h("h1", { class: "hidden-visually" }, "Episodes"), strip, filters, results);
  const page = await getEpisodes(pageQuery(query, 0));
  const taxonomy = (await getReviews("-")).taxonomy.labels;
  drawStrip(strip, page, query, context);
  drawFilters(filters, page, query, context, taxonomy);
  if (view === "groups" && !isShared) await drawGroups(results, query, context);
  else drawEpisodes(results, page, query, context);
}

function listQuery(query) {
  const next = new URLSearchParams(query);
  next.delete("view");
  return next.toString();
}

function pageQuery(query, offset) {
  const next = new URLSearchParams(query);
  next.delete("view");
  next.set("offset", String(offset));
  next.set("limit", String(PAGE));
  return next;
}

function drawStrip(strip, page, query, context) {
  const all = Math.max(1, page.total);
  const tile = (name, number) =>
    h(
      "button",
      { type: "button", class: `tile ${name}`, "aria-pressed": String(isPressed(query, name)), onclick: () => context.go(toggled(query, name)) },
      h("span", { class: "number" }, count(number)),
      h("span", {}, name),
    );
  const over = page.failure_rate > page.failure_rate_limit;
  const limit = page.failure_rate_limit;
  // The bar ends at four times the limit, so that the line stands out.
  const share = Math.min(1, page.failure_rate / (4 * limit));
  replace(
    strip,
    ["passed", "failed", "unscored", "flagged"].map((name) => tile(name, page.counts[name])),
    h(
      "div",
      { class: `gauge ${over ? "over" : ""}` },
      h("span", { class: "gauge-label" }, `Environment failures ${percent(page.failure_rate, 1)}`),
      h(
        "span",
        { class: "gauge-bar", role: "img", "aria-label": `${percent(page.failure_rate, 1)} of the episodes failed because of the environment; the limit is ${percent(limit)}` },
        h("span", { class: "gauge-fill", style: { width: `${100 * share}%` } }),
        h("span", { class: "gauge-line" }),
      ),
      h("span", { class: "muted small" }, over ? `above the ${percent(limit)} line: the numbers describe the environment` : `line at ${percent(limit)} · ${plural(all === 1 && !page.total ? 0 : page.total, "episode")}`),
    ),
  );
}

function toggled(query, tile) {
  const next = new URLSearchParams(query);
  const isOn = isPressed(query, tile);
  if (tile === "flagged") {
    next.delete("flagged");
    if (!isOn) next.set("flagged", "1");
  } else {
    next.delete("outcome");
    if (!isOn) next.append("outcome", tile);
  }
  return `#/?${next}`;
}

function isPressed(query, tile) {
  return tile === "flagged" ? query.has("flagged") : query.getAll("outcome").includes(tile);
}

function drawFilters(box, page, query, context, labels) {
  const change = (name, value) => {
    const next = new URLSearchParams(query);
    next.delete(name);
    if (value) next.set(name, value);
    context.go(`#/?${next}`, true);
  };
  const typed = debounce((name, value) => change(name, value), 350);
  const facets = { ...page.facets, label: labels.map((label) => ({ value: label.id, count: null })).concat(labels.length ? [{ value: "harness", count: null }, { value: "model", count: null }, { value: "either", count: null }] : []) };
  const select = (name) => {
    const values = facets[name] || [];
    if (!values.length) return null;
    return h(
      "label",
      { class: query.get(name) ? "field set" : "field" },
      h("span", {}, name === "family" ? "task" : name),
      h(
        "select",
        { id: `filter-${name}`, onchange: (event) => change(name, event.target.value) },
        h("option", { value: "" }, "any"),
        values.map((facet) => h("option", { value: facet.value, selected: query.get(name) === facet.value }, `${visible(facet.value)}${facet.count === null ? "" : ` (${facet.count})`}`)),
      ),
    );
  };
  const views = ["episodes", "groups"].map((name) => {
    const next = new URLSearchParams(query);
    next.set("view", name);
    return h("a", { class: "tab", href: `#/?${next}`, "aria-current": (query.get("view") || "episodes") === name ? "page" : null }, name === "episodes" ? "Episodes" : "Groups");
  });
  const active = [...query.keys()].some((name) => !["view", "sort", "order"].includes(name));
  replace(
    box,
    isShared ? null : h("div", { class: "tabs" }, views),
    h(
      "label",
      { class: "field search" },
      h("span", {}, "search briefs, calls and answers"),
      h("input", { type: "search", value: query.get("q") || "", id: "search", autocomplete: "off", oninput: (event) => typed("q", event.target.value) }),
    ),
    active ? h("a", { class: "button", href: "#/" }, "Clear") : null,
    isShared ? null : h("a", { class: "button", href: `#/review?${query}` }, "Review ten of these"),
    isShared || !page.total || page.total > MOST_SHARED ? null : h("button", { type: "button", class: "button", onclick: () => downloadShare(page.rows.map((row) => row.key), true) }, `Share these ${page.total}`),
    h(
      "details",
      { class: "more-filters", open: window.innerWidth >= 760 },
      h("summary", {}, "Filters"),
      h(
        "div",
        { class: "filter-fields" },
        FILTERS.map(select),
        RANGES.map(([name, label]) => h("label", { class: query.get(name) ? "field narrow set" : "field narrow" }, h("span", {}, label), h("input", { type: "number", step: "any", id: `filter-${name}`, value: query.get(name) || "", oninput: (event) => typed(name, event.target.value) }))),
      ),
    ),
  );
}

function drawEpisodes(box, first, query, context) {
  if (!first.total) {
    replace(box, h("p", { class: "empty" }, context.session.progress.done ? "No episode matches." : "The recordings are being read …"));
    return;
  }
  const pages = new Map([[0, first.rows]]);
  const pending = new Set();
  const narrow = window.innerWidth < 760;
  const load = async (number) => {
    if (pending.has(number)) return;
    pending.add(number);
    const page = await getEpisodes(pageQuery(query, number * PAGE));
    pages.set(number, page.rows);
    list.redraw();
  };
  const list = virtualList({
    label: `${plural(first.total, "episode")}`,
    rowHeight: narrow ? 74 : 36,
    count: first.total,
    className: "episodes",
    role: "rowgroup",
    draw: (index) => {
      const page = pages.get(Math.floor(index / PAGE));
      if (!page) load(Math.floor(index / PAGE));
      return drawRow(page && page[index % PAGE], index);
    },
  });
  const table = h("div", { class: "grid-table", role: "table", "aria-label": "Episodes", "aria-rowcount": String(first.total) }, h("div", { role: "rowgroup" }, drawHead(query)), list.box);
  replace(box, table);
  list.redraw();
}

function drawHead(query) {
  const sort = query.get("sort") || "";
  return h(
    "div",
    { class: "episode-row head", role: "row" },
    COLUMNS.map(([name, label]) => {
      const next = new URLSearchParams(query);
      next.set("sort", sort === `-${name}` ? name : `-${name}`);
      const state = sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none";
      return h("span", { role: "columnheader", "aria-sort": state, class: `c-${name}` }, h("a", { href: `#/?${next}` }, label, state === "none" ? "" : state === "ascending" ? " ↑" : " ↓"));
    }),
  );
}

function drawRow(row, index) {
  if (!row) return h("div", { class: "episode-row loading", role: "row", "aria-rowindex": String(index + 1) }, h("span", { role: "cell" }, "…"));
  const cell = (name, ...content) => h("span", { role: "cell", class: `c-${name}` }, ...content);
  return h(
    "div",
    { class: "episode-row", role: "row", "aria-rowindex": String(index + 1) },
    cell("outcome", outcomePill(row), row.flags.length ? h("span", { class: "flag", title: row.flags.join(", ") }, "⚑") : null),
    cell("reward", h("span", { class: `reward ${rewardClass(row.reward)}` }, reward(row.reward))),
    cell("family", h("a", { href: `#/e/${encodeURIComponent(row.key)}` }, visible(row.family), h("span", { class: "muted" }, ` ${row.split} ${row.seed}${row.attempt ? ` #${row.attempt}` : ""}`)), row.labels.map((label) => h("span", { class: "chip" }, label)), h("span", { class: "because muted" }, visible(row.because))),
    cell("policy", visible(row.policy), row.version ? h("span", { class: "muted" }, ` ${visible(row.version)}`) : null),
    cell("steps", count(row.steps), row.refusals ? h("span", { class: "muted", title: "refusals" }, ` ${row.refusals}✗`) : null),
    cell("rows", count(row.changed_rows)),
    cell("tokens", count(row.tokens)),
    cell("cost", dollars(row.cost)),
    cell("time", duration(row.wall_seconds)),
  );
}

async function drawGroups(box, query, context) {
  replace(box, h("p", { class: "muted pad" }, "Loading …"));
  const groups = await getGroups(pageQuery(query, 0));
  const wanted = query.get("order") || "";
  const shown = sortGroups(groups, wanted).slice(0, 500);
  const flat = groups.filter((group) => group.zero_spread).length;
  replace(
    box,
    h("p", { class: "muted pad" }, `${plural(groups.length, "group")}; ${flat} without spread${groups.length > shown.length ? "; the first 500 are shown" : ""}`),
    h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Groups" },
      h(
        "table",
        { class: "plain wide" },
        h("thead", {}, h("tr", {}, GROUP_COLUMNS.map(([name, label]) => groupHead(name, label, wanted, query)), h("th", { scope: "col" }, "Rewards"))),
        h("tbody", {}, shown.map((group) => drawGroup(group))),
      ),
    ),
  );
}

function groupHead(name, label, wanted, query) {
  const isSorted = wanted.replace("-", "") === name;
  const next = new URLSearchParams(query);
  next.set("order", wanted === name ? `-${name}` : name);
  const direction = wanted.startsWith("-") ? "descending" : "ascending";
  return h("th", { scope: "col", class: name === "family" ? "" : "num", "aria-sort": isSorted ? direction : "none" }, h("a", { class: "sort", href: `#/?${next}` }, label, isSorted ? (direction === "ascending" ? " ↑" : " ↓") : ""));
}

// What has no value comes last in both directions.
function sortGroups(groups, wanted) {
  const name = wanted.replace("-", "");
  if (!GROUP_COLUMNS.some(([column]) => column === name)) return groups;
  const sign = wanted.startsWith("-") ? -1 : 1;
  return [...groups].sort((one, other) => {
    const [a, b] = [one[name], other[name]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a < b ? -sign : a > b ? sign : 0;
  });
}

function drawGroup(group) {
  const pair = group.keys.length > 1 ? h("a", { class: "button small", href: `#/compare/${group.keys.slice(0, 2).map(encodeURIComponent).join("/")}` }, "Compare") : null;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, visible(group.family), h("span", { class: "muted" }, ` ${group.split} ${group.seed}`)),
    h("td", { class: "num" }, group.scored === group.attempts ? group.attempts : `${group.scored} of ${group.attempts}`),
    h("td", { class: "num" }, group.passed),
    h("td", { class: "num" }, `${percent(group.pass_at_k)} (k=${group.k})`),
    h("td", { class: "num" }, percent(group.pass_power_k)),
    h("td", { class: "num" }, reward(group.mean_reward)),
    h("td", { class: "num" }, group.spread === null ? "–" : group.spread.toFixed(3), group.zero_spread ? h("span", { class: "pill warn" }, "zero spread") : null),
    h("td", {}, h("span", { class: "dots" }, group.keys.map((key, index) => h("a", { class: `dot-link ${rewardClass(group.rewards[index])}`, href: `#/e/${encodeURIComponent(key)}` }, reward(group.rewards[index])))), pair),
  );
}
