// Numbers over many episodes, the surge monitor, agreement of reviewers, and the taxonomy.
import { append, h, replace, svg } from "./dom.js";
import { count, dollars, duration, percent, plural, reward, signed, visible } from "./format.js";
import { getJson, getReviews } from "./api.js";
import { taxonomyPart } from "./taxonomy.js";
import { sparkline } from "./verdict.js";

export async function renderDashboard(container, context) {
  const [{ dashboard, surges }, reviews] = await Promise.all([getJson("dashboard", context.query), getReviews()]);
  for (const rows of [dashboard.versions, dashboard.heat, dashboard.actions, dashboard.lengths]) rows.sort(byVersion);
  replace(
    container,
    h(
      "div",
      { class: "dashboard" },
      h("h1", {}, "Dashboard"),
      surges.map(surgeCard),
      surges.length ? null : h("p", { class: "muted" }, "The surge monitor has no warning: no reward rose without its witnesses."),
      tiles(dashboard),
      part("Policies and versions", [h("div", { class: "charts" }, versionCharts(dashboard.versions)), versionTable(dashboard.versions)]),
      part("Pass rate by task", heatMap(dashboard)),
      h("div", { class: "two" }, part("Rewards", histogram(dashboard.rewards)), part("Episode lengths", lengths(dashboard.lengths))),
      part("Actions", actionTable(dashboard.actions)),
      part("Failure clusters: first refusals and errors", clusterTable(dashboard.clusters)),
      h("div", { class: "two" }, part("Flags", tally(dashboard.flags, "flag")), part("Reviewers’ labels and blame", [tally(dashboard.labels, "label"), Object.keys(dashboard.blames).length ? [h("h3", {}, "Blame"), tally(dashboard.blames, "label")] : null])),
      part("Agreement between reviewers", agreementTable(reviews.agreement)),
      part("Taxonomy", taxonomyPart(reviews.taxonomy)),
    ),
  );
}

function part(title, content) {
  return append(h("section", { class: "panel" }, h("h2", {}, title)), [content]);
}

function surgeCard(surge) {
  return h(
    "article",
    { class: `card surge ${surge.level}`, role: "alert" },
    h("h2", {}, surge.level === "alarm" ? "Alarm" : "Warning", `: ${visible(surge.policy)} ${visible(surge.previous)} → ${visible(surge.version)}`),
    h("p", {}, visible(surge.message)),
    h("ul", {}, surge.witnesses.map((witness) => h("li", { class: witness.followed ? "ok" : "bad" }, `${witness.name}: ${witness.before.toFixed(2)} → ${witness.after.toFixed(2)} (${witness.observations} observations)${witness.followed ? "" : " did not follow"}`))),
    h("p", { class: "small" }, "Read first: ", surge.examples.map((key) => [h("a", { href: `#/e/${encodeURIComponent(key)}/verdict` }, key), " "])),
  );
}

function tiles({ overall, environment_failure_rate: rate, environment_failure_limit: limit, cost }) {
  const values = [
    ["episodes", count(overall.episodes)],
    ["pass rate", percent(overall.pass_rate, 1), overall.interval ? `${percent(overall.interval[0], 0)} – ${percent(overall.interval[1], 0)}` : ""],
    ["mean reward", reward(overall.mean_reward)],
    ["unscored", percent(overall.unscored_rate, 1)],
    ["flagged", percent(overall.flag_rate, 1)],
    ["environment failures", percent(rate, 1), rate > limit ? `above the ${percent(limit)} line` : `line at ${percent(limit)}`],
    ["cost", dollars(cost.dollars), cost.dollars_per_pass ? `${dollars(cost.dollars_per_pass)} for a pass` : ""],
    ["tokens", count(cost.tokens), duration(cost.wall_seconds)],
  ];
  return h("div", { class: "strip" }, values.map(([name, value, note]) => h("div", { class: "tile still" }, h("span", { class: "number" }, value), h("span", {}, name), note ? h("span", { class: "muted small" }, note) : null)));
}

function dataTable(head, rows, label) {
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: "plain wide" }, h("thead", {}, h("tr", {}, head.map((name, index) => h("th", { scope: "col", class: rows[0]?.children[index]?.classList.contains("num") ? "num" : "" }, name)))), h("tbody", {}, rows)));
}

function versionTable(versions) {
  const rows = versions.map((row) =>
    h("tr", {}, h("th", { scope: "row" }, h("a", { href: filteredList({ policy: row.policy, version: row.version }) }, visible(row.policy), " ", visible(row.version))), [count(row.episodes), percent(row.pass_rate, 1), row.interval ? `${percent(row.interval[0])} – ${percent(row.interval[1])}` : "–", reward(row.mean_reward), percent(row.goals_held_rate), row.rating === null ? "–" : percent(row.rating), row.earned_rate === null ? "–" : `${percent(row.earned_rate)} of ${row.reviewed}`, percent(row.unscored_rate, 1), percent(row.flag_rate, 1), row.mean_steps === null ? "–" : row.mean_steps.toFixed(1), count(Math.round(row.mean_tokens || 0)), dollars(row.cost)].map((value) => h("td", { class: "num" }, value))),
  );
  return dataTable(["Policy", "Episodes", "Pass", "95 % interval", "Reward", "Goals", "Ratings", "Earned", "Unscored", "Flagged", "Steps", "Tokens", "Cost"], rows, "Policies and versions");
}

// The list with these filters; a policy without a version has no filter for it.
function filteredList(filters) {
  return `#/?${new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ""))}`;
}

// step-50 comes before step-100; policies stand in the order of their names.
const natural = new Intl.Collator("en", { numeric: true });

function byVersion(one, other) {
  return natural.compare(one.policy, other.policy) || natural.compare(one.version, other.version);
}

// For each policy with several versions: the pass rate with its interval, and the mean reward.
function versionCharts(versions) {
  const policies = new Map();
  for (const row of versions) policies.set(row.policy, [...(policies.get(row.policy) || []), row]);
  return [...policies].filter(([, rows]) => rows.length > 1).map(([policy, rows]) => versionChart(policy, rows));
}

function versionChart(policy, rows) {
  const [left, right, top, bottom, width] = [34, 16, 10, 130, 640];
  const low = Math.min(0, ...rows.map((row) => row.mean_reward ?? 0));
  const x = (index) => left + ((width - left - right) * (index + 0.5)) / rows.length;
  const y = (value) => bottom - ((bottom - top) * (value - low)) / (1 - low);
  const line = (name, read) => {
    const points = rows.flatMap((row, index) => (read(row) === null ? [] : [`${x(index)},${y(read(row))}`]));
    return [svg("polyline", { class: `line ${name}`, points: points.join(" ") }), points.map((point) => svg("circle", { class: `point ${name}`, cx: point.split(",")[0], cy: point.split(",")[1], r: 3.5 }))];
  };
  const step = Math.ceil(rows.length / 12);
  const told = rows.map((row) => `${row.version}: ${percent(row.pass_rate)} passed, mean reward ${reward(row.mean_reward)}`).join("; ");
  return h(
    "figure",
    { class: "versions" },
    h("figcaption", { class: "small" }, h("strong", {}, visible(policy)), h("span", { class: "key pass" }, "pass rate, 95 % interval"), h("span", { class: "key mean" }, "mean reward")),
    svg(
      "svg",
      { viewBox: `0 0 ${width} 152`, role: "img", "aria-label": `${policy} by version. ${told}` },
      [...new Set([low, 0, 0.5, 1])].map((value) => [svg("line", { class: value === 0 ? "grid zero" : "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }), svg("text", { class: "tick", x: left - 6, y: y(value) + 3.5, "text-anchor": "end" }, value.toFixed(1))]),
      rows.map((row, index) => (row.interval ? svg("line", { class: "whisker", x1: x(index), x2: x(index), y1: y(row.interval[0]), y2: y(row.interval[1]) }) : null)),
      line("mean", (row) => row.mean_reward),
      line("pass", (row) => row.pass_rate),
      rows.map((row, index) => (index % step ? null : svg("text", { class: "tick", x: x(index), y: 147, "text-anchor": "middle" }, visible(row.version) || "–"))),
    ),
  );
}

function heatMap({ heat }) {
  const columns = [...new Set(heat.map((cell) => `${cell.policy} ${cell.version}`))];
  const families = [...new Set(heat.map((cell) => cell.family))].sort();
  const find = (family, column) => heat.find((cell) => cell.family === family && `${cell.policy} ${cell.version}` === column);
  const rows = families.map((family) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: `#/?${new URLSearchParams({ family })}` }, visible(family))), columns.map((column) => heatCell(find(family, column)))));
  return dataTable(["Task", ...columns.map(visible)], rows, "Pass rate by task");
}

function heatCell(cell) {
  if (!cell || cell.pass_rate === null) return h("td", { class: "num muted" }, "–");
  const step = Math.round(cell.pass_rate * 4);
  return h("td", { class: `num heat heat-${step}`, title: `${cell.passed} of ${cell.scored}` }, h("a", { href: filteredList({ family: cell.family, policy: cell.policy, version: cell.version }) }, percent(cell.pass_rate), h("span", { class: "small" }, ` (${Math.round(100 * cell.interval[0])}–${percent(cell.interval[1])})`)));
}

// The number of episodes over each range of rewards.
function histogram({ edges, counts }) {
  const [left, right, top, bottom, width] = [34, 8, 12, 116, 480];
  const most = Math.max(...counts, 1);
  const size = (width - left - right) / counts.length;
  const y = (number) => bottom - ((bottom - top) * number) / most;
  const first = edges[0];
  const span = edges[edges.length - 1] - first;
  const x = (value) => left + ((width - left - right) * (value - first)) / span;
  const bars = counts.map((number, index) => (number ? svg("rect", { class: barClass(edges, index), x: left + index * size + 0.5, width: Math.max(1, size - 1), y: y(number), height: bottom - y(number) }, svg("title", {}, `${signed(edges[index], 2)} to ${signed(edges[index + 1], 2)}: ${plural(number, "episode")}`)) : null));
  return h(
    "figure",
    { class: "bars" },
    svg(
      "svg",
      { viewBox: `0 0 ${width} 134`, role: "img", "aria-label": `Distribution of rewards over ${plural(counts.reduce((sum, number) => sum + number, 0), "scored episode")}` },
      [0, most].map((number) => [svg("line", { class: "grid", x1: left, x2: width - right, y1: y(number), y2: y(number) }), svg("text", { class: "tick", x: left - 6, y: y(number) + 3.5, "text-anchor": "end" }, count(number))]),
      bars,
      [first, 0, first + span].map((value, index) => svg("text", { class: "tick", x: x(value), y: 130, "text-anchor": ["start", "middle", "end"][index] }, value === 0 ? "0" : signed(value, 1))),
    ),
  );
}

// What is below zero was harm.
function barClass(edges, index) {
  return edges[index + 1] <= 0 ? "bar below" : "bar";
}

function lengths(rows) {
  return dataTable(["Policy", "Median", "95 %", ""], rows.map((row) => h("tr", {}, h("th", { scope: "row" }, visible(row.policy), " ", visible(row.version)), h("td", { class: "num" }, row.quantiles.p50), h("td", { class: "num" }, row.quantiles.p95), h("td", {}, sparkline(row.histogram.counts, "Distribution of lengths")))), "Episode lengths");
}

function actionTable(actions) {
  const total = new Map();
  for (const row of actions) for (const [name, number] of Object.entries(row.operations)) total.set(name, (total.get(name) || 0) + number);
  const names = [...total.keys()].sort((a, b) => total.get(b) - total.get(a)).slice(0, 25);
  const share = (row, name) => (row.operations[name] || 0) / Math.max(1, row.calls);
  return dataTable(["Operation", ...actions.map((row) => `${visible(row.policy)} ${visible(row.version)}`)], names.map((name) => h("tr", {}, h("th", { scope: "row", class: "mono" }, visible(name)), actions.map((row) => h("td", { class: "num" }, h("span", { class: "bar-cell" }, h("i", { style: { width: `${100 * share(row, name)}%` } })), percent(share(row, name), 1))))), "Actions");
}

function clusterTable(clusters) {
  if (!clusters.length) return h("p", { class: "muted" }, "None.");
  return dataTable(["Episodes", "First refusal or error", "Tasks", "Examples"], clusters.map((cluster) => h("tr", {}, h("td", { class: "num" }, cluster.episodes), h("td", { class: "mono wrap" }, visible(cluster.text)), h("td", {}, cluster.families.slice(0, 4).map(visible).join(", "), cluster.families.length > 4 ? " …" : ""), h("td", {}, cluster.examples.map((key, index) => [h("a", { href: `#/e/${encodeURIComponent(key)}` }, `${index + 1}`, h("span", { class: "hidden-visually" }, ` (${key})`)), " "])))), "Failure clusters");
}

function tally(numbers, filter) {
  const entries = Object.entries(numbers);
  return entries.length ? h("ul", { class: "tally" }, entries.map(([name, number]) => h("li", {}, h("a", { href: filteredList({ [filter]: name }) }, visible(name)), h("span", { class: "num" }, count(number))))) : h("p", { class: "muted" }, "None.");
}

function agreementTable({ reviewers, rows }) {
  const names = Object.entries(reviewers).map(([name, number]) => `${name}: ${plural(number, "episode")}`);
  if (!rows.length) return h("p", { class: "muted" }, names.length ? `${names.join(", ")}. Two reviewers of the same episodes are needed.` : "No reviews yet.");
  return dataTable(["Reviewers", "Subject", "Episodes", "Agreed", "Cohen’s κ"], rows.map((row) => h("tr", {}, h("th", { scope: "row" }, `${visible(row.first)} and ${visible(row.second)}`), h("td", {}, row.subject), h("td", { class: "num" }, row.episodes), h("td", { class: "num" }, percent(row.agreed / row.episodes)), h("td", { class: "num" }, row.kappa === null ? "–" : row.kappa.toFixed(2)))), "Agreement");
}
