// The verdict: the reward as a waterfall, findings with their rows, collateral, flags.
import { h, svg } from "./dom.js";
import { plural, reward, signed, visible } from "./format.js";
import { changeTable, rowAnchor } from "./rows.js";

export function rowLink(key, row) {
  const place = row.step === null || row.step === undefined ? "" : `/s/${row.step}`;
  const name = visible([row.product, row.table, row.id].filter(Boolean).join(" "));
  if (row.changed === false) return place ? h("a", { class: "row-link", href: `#/e/${encodeURIComponent(key)}${place}` }, name, ` unchanged, met at step ${row.step}`) : h("span", { class: "row-link muted" }, name, " unchanged, not met");
  return h("a", { class: "row-link", href: `#/e/${encodeURIComponent(key)}${place}/r/${encodeURIComponent(rowAnchor(row))}` }, name, place ? ` at step ${row.step}` : "");
}

export function renderVerdict(detail) {
  const verdict = detail.verdict;
  if (!verdict) return h("div", { class: "verdict" }, renderQuarantine(detail));
  const goals = detail.findings.filter((finding) => finding.weight > 0);
  // The broken ones first: of twenty rules, they decided.
  const rules = detail.findings.filter((finding) => finding.weight <= 0).sort((one, other) => Number(one.held) - Number(other.held));
  const key = detail.summary.key;
  return h(
    "div",
    { class: "verdict" },
    detail.quarantine ? renderQuarantine(detail) : null,
    detail.waterfall ? waterfall(detail.waterfall) : h("p", { class: "note" }, "Unscored: there is no reward, because the environment failed."),
    section(`Goals: ${goals.filter((goal) => goal.held).length} of ${goals.length} reached`, findingList(goals, key)),
    section(`Rules: ${rules.filter((rule) => rule.held).length} of ${rules.length} kept`, findingList(rules, key)),
    section(`Collateral: ${plural(detail.collateral.length, "row")} that nothing allowed`, detail.collateral.map((item) => collateralCard(item, key))),
    section(plural(detail.flags.length, "flag"), detail.flags.map((flag) => flagCard(flag, key))),
    verdict.breakdown && verdict.breakdown.harms.length ? section("Harm", harmTable(verdict.breakdown.harms)) : null,
    verdict.faults.length ? section(plural(verdict.faults.length, "planned fault"), faultTable(verdict.faults)) : null,
  );
}

function section(title, content) {
  const parts = [content].flat(Infinity).filter(Boolean);
  return h("section", {}, h("h3", {}, title), parts.length ? parts : h("p", { class: "muted" }, "None."));
}

function renderQuarantine(detail) {
  const why = detail.quarantine;
  return h(
    "div",
    { class: "card refusal" },
    h("h3", {}, "No reward"),
    why ? h("p", {}, h("strong", {}, `${why.blame}: ${why.kind}`), ` ${visible(why.because)}`) : h("p", {}, "The episode ended without a verdict."),
    h("p", { class: "muted" }, why?.blame === "harness" ? "The environment failed: the episode counts as an environment failure, and trains nobody." : "It counts neither for nor against the policy."),
  );
}

// From nothing to the reward: each bar begins where the one before ended.
function waterfall({ bars, formula, derived }) {
  const values = bars.flatMap((bar) => [bar.start, bar.end, 0]);
  const low = Math.min(...values, 0);
  const high = Math.max(...values, 1);
  const span = high - low || 1;
  const place = (value) => `${(100 * (value - low)) / span}%`;
  return h(
    "figure",
    { class: "waterfall" },
    h("figcaption", {}, h("span", { class: "mono" }, `reward = ${formula}`), derived ? h("span", { class: "muted" }, " (computed back: this recording has no breakdown)") : null),
    h(
      "table",
      {},
      h("thead", { class: "hidden-visually" }, h("tr", {}, ["Part", "Share", "Bar", "Total"].map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        bars.map((bar) =>
          h(
            "tr",
            { class: bar.kind },
            h("th", { scope: "row" }, breakable(bar.label)),
            h("td", { class: "muted small" }, bar.detail),
            h(
              "td",
              { class: "track" },
              h("span", { class: "zero", style: { left: place(0) } }),
              h("span", { class: "bar", style: { left: place(Math.min(bar.start, bar.end)), width: `max(2px, ${(100 * Math.abs(bar.end - bar.start)) / span}%)` } }),
            ),
            h("td", { class: "num" }, bar.kind === "total" ? reward(bar.end) : signed(bar.end - bar.start, 3)),
          ),
        ),
      ),
    ),
  );
}

// A check's name may be broken where its words begin, so that no word is.
function breakable(label) {
  return visible(label).split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}

function findingList(findings, key) {
  return findings.length
    ? h(
        "ul",
        { class: "findings" },
        findings.map((finding) =>
          h(
            "li",
            { class: finding.held ? "held" : "missed" },
            mark(finding),
            h(
              "div",
              {},
              h("p", {}, visible(finding.because)),
              h("p", { class: "muted small" }, [finding.product, finding.check, `weight ${String(finding.weight).replace("-", "−")}`, `score ${Number(finding.score.toFixed(4))}`].filter(Boolean).join(" · "), finding.note ? [" · ", h("span", {}, finding.note)] : null),
              finding.rows.length ? h("p", { class: "small" }, finding.rows.map((row) => [rowLink(key, row), " "])) : null,
            ),
          ),
        ),
      )
    : null;
}

function mark(finding) {
  const [sign, name] = finding.held ? ["✓", "held"] : finding.score > 0 ? ["◐", "partly held"] : ["✗", "not held"];
  return h("span", { class: "mark", role: "img", "aria-label": name }, sign);
}

function collateralCard(item, key) {
  return h(
    "article",
    { class: "row-change collateral" },
    h("h4", {}, rowLink(key, item), h("span", { class: "pill bad" }, `harm ${item.harm}`)),
    h("p", { class: "small" }, visible(item.because), h("span", { class: "muted" }, ` · ${item.fields.join(", ")}`)),
    item.before || item.after ? changeTable(item.before, item.after) : null,
  );
}

function flagCard(flag, key) {
  return h(
    "article",
    { class: "card flag-card" },
    h("h4", {}, h("span", { class: "flag" }, "⚑ "), visible(flag.tag)),
    h("p", {}, visible(flag.evidence)),
    flag.rows.length ? h("p", { class: "small" }, flag.rows.map((row) => [rowLink(key, row), " "])) : null,
  );
}

function harmTable(harms) {
  return h("ul", { class: "findings" }, harms.map((harm) => h("li", { class: "missed" }, h("span", { class: "mark" }, `${harm.weight}`), h("p", {}, visible(harm.because)))));
}

function faultTable(faults) {
  return h("ul", { class: "findings" }, faults.map((fault) => h("li", {}, h("span", { class: "mark" }, "⚡"), h("p", {}, `${fault.product}: ${fault.kind} at request ${fault.operation}`))));
}

// A sparkline for tables.
export function sparkline(values, label) {
  const top = Math.max(...values, 1);
  const width = 100 / Math.max(1, values.length);
  return svg(
    "svg",
    { viewBox: "0 0 100 24", class: "spark", role: "img", "aria-label": label, preserveAspectRatio: "none" },
    values.map((value, index) => svg("rect", { x: index * width + 0.3, width: Math.max(0.5, width - 0.6), y: 24 - (24 * value) / top, height: (24 * value) / top })),
  );
}
