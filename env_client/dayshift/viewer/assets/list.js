// The list of episodes and of groups, with filters.
import { debounce, h, replace, virtualList } from "./dom.js";
import { count, dollars, duration, percent, plural, reward, visible } from "./format.js";
import { downloadShare, getEpisodes, getGroups, getReviews, getRuns, isShared } from "./api.js";

const PAGE = 100;
const MOST_SHARED = 50;
const MOST_REWARDS = 24;
const FILTERS = ["outcome", "family", "policy", "version", "product", "split", "flag", "fault", "label", "run"];
const RANGES = [["min_steps", "Steps from"], ["max_steps", "Steps to"], ["min_reward", "Reward from"], ["max_reward", "Reward to"], ["seed", "Seed"]];
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
const VIEWS = [["episodes", "Episodes"], ["groups", "Groups"], ["runs", "Runs"]];
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
  context.listQuery = view === "episodes" ? listQuery(query) : "";
  context.endReview();
  const results = h("div", { class: "results" });
  const strip = h("div", { class: "strip" });
  const filters = h("div", { class: "filters" });
  replace(container, h("h1", { class: "hidden-visually" }, "Episodes"), strip, filters, results);
  const page = await getEpisodes(pageQuery(query, 0));
  const taxonomy = (await getReviews("-")).taxonomy.labels;
  drawStrip(strip, page, query, context);
  drawFilters(filters, page, query, context, taxonomy);
  if (view === "groups" && !isShared) await drawGroups(results, query);
  else if (view === "runs" && !isShared) await drawRuns(results, query, page.failure_rate_limit);
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
  const views = VIEWS.map(([name, label]) => {
    const next = new URLSearchParams(query);
    next.set("view", name);
    return h("a", { class: "tab", href: `#/?${next}`, "aria-current": (query.get("view") || "episodes") === name ? "page" : null }, label);
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
      { class: "more-filters", open: window.innerWidth >= 760 || context.filtersOpen, ontoggle: (event) => (context.filtersOpen = event.target.open) },
      h("summary", {}, "Filters"),
      h(
        "div",
        { class: "filter-fields" },
        sortSelect(query, (value) => change("sort", value)),
        FILTERS.map(select),
        RANGES.map(([name, label]) => h("label", { class: query.get(name) ? "field narrow set" : "field narrow" }, h("span", {}, label), h("input", { type: "number", step: "any", id: `filter-${name}`, value: query.get(name) || "", oninput: (event) => typed(name, event.target.value) }))),
      ),
    ),
  );
}

// Where the window is too narrow for the table's head.
function sortSelect(query, change) {
  const orders = COLUMNS.flatMap(([name, label]) => [[`-${name}`, `${label} ↓`], [name, `${label} ↑`]]);
  return h(
    "label",
    { class: query.get("sort") ? "field only-narrow set" : "field only-narrow" },
    h("span", {}, "sort"),
    h("select", { id: "sort", onchange: (event) => change(event.target.value) }, [["", "as recorded"], ...orders].map(([value, label]) => h("option", { value, selected: (query.get("sort") || "") === value }, label))),
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
    rowHeight: narrow ? 84 : 36,
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
    cell("outcome", h("span", { class: `pill ${row.outcome}` }, row.outcome), row.flags.length ? h("span", { class: "flag", title: row.flags.join(", ") }, "⚑") : null),
    cell("reward", h("span", { class: `reward ${rewardClass(row.reward)}` }, reward(row.reward))),
    cell("family", h("a", { href: `#/e/${encodeURIComponent(row.key)}` }, visible(row.family), h("span", { class: "muted" }, ` ${row.split} ${row.seed}${row.attempt ? ` #${row.attempt}` : ""}`)), h("span", { class: "remarks" }, row.outcome === "unscored" && row.blame !== "harness" && row.blame ? h("span", { class: "chip" }, row.blame) : null, row.labels.map((label) => h("span", { class: "chip" }, label)), h("span", { class: "because muted" }, visible(row.because)))),
    cell("policy", visible(row.policy), row.version ? h("span", { class: "muted" }, ` ${visible(row.version)}`) : null),
    cell("steps", count(row.steps), row.refusals ? h("span", { class: "muted", title: "refusals" }, ` ${row.refusals}✗`) : null),
    cell("rows", count(row.changed_rows)),
    cell("tokens", count(row.tokens)),
    cell("cost", dollars(row.cost)),
    cell("time", duration(row.wall_seconds)),
  );
}

async function drawGroups(box, query) {
  replace(box, h("p", { class: "muted pad" }, "Loading …"));
  const groups = await getGroups(pageQuery(query, 0));
  const wanted = query.get("order") || "";
  const shown = sortGroups(groups, wanted).slice(0, 500);
  const flat = groups.filter((group) => group.zero_spread).length;
  replace(
    box,
    h("p", { class: "muted count" }, `${plural(groups.length, "group")}; ${flat} without spread${groups.length > shown.length ? "; the first 500 are shown" : ""}`),
    h(
      "div",
      { class: "scroll-x boxed", tabindex: "0", role: "region", "aria-label": "Groups" },
      h(
        "table",
        { class: "plain wide" },
        h("thead", {}, h("tr", {}, GROUP_COLUMNS.map(([name, label]) => groupHead(name, label, wanted, query)), h("th", { scope: "col" }, "Rewards"), h("th", {}, h("span", { class: "hidden-visually" }, "Compare")))),
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

// One attempt as a chip: full marks, some reward, none or harm, no reward at all.
function dotLink(key, value) {
  const kind = value === null ? "none" : value <= 0 ? "down" : value > 0.995 ? "up" : "part";
  const text = value === null ? "–" : value.toFixed(2).replace("-", "−");
  return h("a", { class: `dot-link ${kind}`, href: `#/e/${encodeURIComponent(key)}`, title: `reward ${reward(value)}` }, text);
}

// The best and the worst attempt: what they do otherwise tells most.
function farthest({ keys, rewards }) {
  const scored = keys.map((key, index) => ({ key, reward: rewards[index] })).filter((one) => one.reward !== null);
  const ordered = [...scored].sort((one, other) => other.reward - one.reward);
  return ordered.length > 1 ? [ordered[0].key, ordered[ordered.length - 1].key] : keys.slice(0, 2);
}

function drawGroup(group) {
  const pair = group.keys.length > 1 ? h("a", { class: "button small", href: `#/compare/${farthest(group).map(encodeURIComponent).join("/")}`, title: "Compare the best attempt with the worst" }, "Compare") : null;
  const rest = group.keys.length - MOST_REWARDS;
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
    h("td", { class: "rewards-cell" }, h("span", { class: "dots" }, group.keys.slice(0, MOST_REWARDS).map((key, index) => dotLink(key, group.rewards[index])), rest > 0 ? h("a", { class: "dot-link more-attempts", href: `#/?${new URLSearchParams({ group: group.group })}` }, `and ${count(rest)} more`) : null)),
    h("td", {}, pair),
  );
}

async function drawRuns(box, query, limit) {
  replace(box, h("p", { class: "muted pad" }, "Loading …"));
  const runs = await getRuns(pageQuery(query, 0));
  const heads = ["Run", "Policies", "Episodes", "Passed", "Failed", "Unscored", "Flagged", "Pass rate", "Mean reward", "Environment failures", "Tokens", "Cost"];
  replace(
    box,
    h("p", { class: "muted count" }, plural(runs.length, "run")),
    h(
      "div",
      { class: "scroll-x boxed", tabindex: "0", role: "region", "aria-label": "Runs" },
      h("table", { class: "plain wide" }, h("thead", {}, h("tr", {}, heads.map((name, index) => h("th", { scope: "col", class: index > 1 ? "num" : "" }, name)))), h("tbody", {}, runs.map((run) => drawRun(run, query, limit)))),
    ),
  );
}

// Each number leads to its episodes.
function drawRun(run, query, limit) {
  const link = (filters, ...content) => {
    const next = new URLSearchParams(query);
    next.delete("view");
    for (const [name, value] of Object.entries({ run: run.run, ...filters })) next.set(name, value);
    return h("a", { href: `#/?${next}` }, ...content);
  };
  const tally = (name) => h("td", { class: "num" }, run[name] ? link(name === "flagged" ? { flagged: "1" } : { outcome: name }, count(run[name])) : "0");
  const scored = run.passed + run.failed;
  const policies = run.policies.slice(0, 4).map(visible).join(", ") + (run.policies.length > 4 ? ` and ${run.policies.length - 4} more` : "");
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, link({}, visible(run.run)), run.unreadable ? h("span", { class: "pill warn" }, `${plural(run.unreadable, "line")} unreadable`) : null),
    h("td", {}, policies),
    h("td", { class: "num" }, count(run.episodes)),
    ["passed", "failed", "unscored", "flagged"].map(tally),
    h("td", { class: "num" }, scored ? percent(run.passed / scored, 1) : "–"),
    h("td", { class: "num" }, reward(run.mean_reward)),
    h("td", { class: run.failure_rate > limit ? "num bad" : "num" }, percent(run.failure_rate, 1), run.failure_rate > limit ? ` above ${percent(limit)}` : ""),
    h("td", { class: "num" }, count(run.tokens)),
    h("td", { class: "num" }, dollars(run.cost)),
  );
}
