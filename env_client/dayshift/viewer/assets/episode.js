// One episode: three panes under one slider, the verdict, and the review.
import { details, h, replace, virtualList } from "./dom.js";
import { bytes, clockTime, count, dollars, duration, oneLine, plural, reward, signed, visible } from "./format.js";
import { downloadShare, getChanges, getEpisode, getSteps, isShared } from "./api.js";
import { fieldTable, longText, prettyJson, renderAnswer } from "./render.js";
import { renderChanges, rowAnchor } from "./rows.js";
import { renderVerdict } from "./verdict.js";
import { outcomePill } from "./list.js";
import { createReview } from "./review.js";

const WINDOW = 8;
const TABS = [["steps", "Steps"], ["verdict", "Verdict"], ["setup", "Brief and setup"]];

export async function renderEpisode(container, context, { key, step, row, tab }) {
  const detail = await getEpisode(key, context.listQuery);
  const page = new EpisodePage(container, context, detail);
  await page.open(step ?? defaultStep(detail), row || "", tab);
  return page;
}

function defaultStep(detail) {
  return detail.heads.length ? detail.heads[0].number : 0;
}

class EpisodePage {
  constructor(container, context, detail) {
    this.container = container;
    this.context = context;
    this.detail = detail;
    this.key = detail.summary.key;
    this.raw = false;
    this.tab = "steps";
    this.bodies = new Map();
    this.collateral = new Set(detail.collateral.map(rowAnchor));
    this.items = listItems(detail);
    this.itemOf = new Map(this.items.map((item, index) => [item.head ? item.head.number : null, index]));
    const last = detail.heads.length ? detail.heads[detail.heads.length - 1].number : 0;
    this.range = [0, last];
    this.draw();
  }

  draw() {
    const { detail } = this;
    this.said = h("section", { class: "pane", "aria-label": "What the agent said and called" });
    this.answered = h("section", { class: "pane", "aria-label": "What the product answered" });
    this.changed = h("section", { class: "pane", "aria-label": "What changed in the company" });
    this.canvas = h("canvas", { class: "lanes", width: 100, height: 46, "aria-hidden": "true", onclick: (event) => this.jumpTo(event) });
    this.slider = h("input", { type: "range", id: "slider", min: String(this.range[0]), max: String(this.range[1]), "aria-label": "Step", oninput: (event) => this.show(Number(event.target.value)) });
    this.position = h("output", { for: "slider", class: "position" });
    this.list = virtualList({ label: "Steps", rowHeight: 26, count: this.items.length, className: "step-list", draw: (index) => this.drawItem(index) });
    this.steps = h(
      "div",
      { class: "steps-tab" },
      h("div", { class: "scrubber" }, this.canvas, this.slider, this.position, legend()),
      h("div", { class: "panes" }, h("div", { class: "pane-column" }, this.list.box, this.said), this.answered, this.changed),
    );
    this.verdict = h("div", {});
    this.setup = h("div", {});
    this.tabBar = h("div", { class: "tabs", role: "tablist" });
    this.reviewBox = h("aside", { class: "review", "aria-label": "Review" });
    replace(this.container, h("div", { class: "episode" }, this.header(), this.tabBar, h("div", { class: "episode-body" }, h("div", { class: "episode-main" }, this.steps, this.verdict, this.setup), this.reviewBox)));
    this.selectTab(this.tab);
    this.observer = new ResizeObserver(() => this.paintLanes());
    this.observer.observe(this.canvas);
  }

  header() {
    const { summary, cost, model } = this.detail;
    const time = [["calls", count(summary.calls)], ["wall", duration(summary.wall_seconds)], ["virtual", duration(summary.virtual_seconds)], ["tokens", count(summary.tokens)], ["cost", dollars(summary.cost)], ["answers", bytes(cost.answer_bytes)]];
    return h(
      "div",
      { class: "episode-head" },
      h("h1", {}, outcomePill(summary), " ", visible(summary.family), h("span", { class: "muted" }, ` ${summary.split} ${summary.seed}`), " ", h("span", { class: "reward" }, reward(summary.reward))),
      h("p", { class: "muted" }, `${visible(summary.policy)} ${visible(summary.version)}${model ? ` · ${visible(model.model)}` : ""} · ${summary.run} · ${this.key}`),
      summary.because ? h("p", { class: "because" }, visible(summary.because)) : null,
      h("dl", { class: "facts" }, time.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      h("div", { class: "actions" }, this.neighbour("previous", "h", "Previous"), this.neighbour("next", "l", "Next"), isShared ? null : this.shareTools(), this.groupTools()),
    );
  }

  neighbour(side, keyName, label) {
    const key = this.context.neighbour(this.key, side, this.detail[side]);
    return key ? h("a", { class: "button", href: `#/e/${encodeURIComponent(key)}` }, label, " ", h("kbd", {}, keyName)) : null;
  }

  groupTools() {
    const group = this.detail.summary.group;
    return group
      ? [
          h("a", { class: "button quiet", href: `#/?${new URLSearchParams({ group })}` }, "All attempts"),
          h("a", { class: "button quiet", href: `#/compare/${encodeURIComponent(this.key)}/-` }, "Compare"),
        ]
      : null;
  }

  shareTools() {
    return [
      h("button", { type: "button", class: "button", onclick: () => downloadShare([this.key], true) }, "Share as a file (redacted)"),
      h("button", { type: "button", class: "button quiet", onclick: () => downloadShare([this.key], false) }, "not redacted", h("span", { class: "hidden-visually" }, " file")),
      [["atif", "ATIF"], ["otel", "OpenTelemetry"]].map(([form, name]) => this.exportLinks(form, name)),
    ];
  }

  exportLinks(form, name) {
    const link = (query, file, label) => h("a", { class: "button quiet", href: `api/episodes/${encodeURIComponent(this.key)}/export/${form}${query}`, download: file }, label);
    return [link("", `${this.key}.redacted.${form}.json`, `${name} (redacted)`), link("?redact=0", `${this.key}.${form}.json`, ["not redacted", h("span", { class: "hidden-visually" }, ` ${name}`)])];
  }

  selectTab(name) {
    this.tab = name;
    replace(
      this.tabBar,
      TABS.map(([id, label]) =>
        h("button", { type: "button", role: "tab", class: "tab", "aria-selected": String(id === name), onclick: () => this.selectTab(id) }, label, id === "verdict" ? [" ", h("kbd", {}, "v")] : null),
      ),
    );
    this.steps.hidden = name !== "steps";
    this.verdict.hidden = name !== "verdict";
    this.setup.hidden = name !== "setup";
    if (name === "verdict" && !this.verdict.hasChildNodes()) this.verdict.append(renderVerdict(this.detail));
    if (name === "setup" && !this.setup.hasChildNodes()) this.setup.append(renderSetup(this.detail));
    if (name === "steps") this.list.redraw();
  }

  async open(step, row, tab) {
    this.review = await createReview(this.reviewBox, this.key, this.context, () => this.step ?? null);
    await this.show(step, row);
    this.list.redraw();
    this.list.reveal(this.itemOf.get(this.step) ?? 0);
    if (tab) this.selectTab(tab);
  }

  // Shows one step in all panes; what is not there yet is loaded with its neighbours.
  async show(number, row = "") {
    const before = this.step;
    this.step = Math.min(Math.max(number, this.range[0]), this.range[1]);
    this.slider.value = String(this.step);
    this.position.textContent = `${this.step} / ${this.range[1]}`;
    for (const one of [before, this.step]) if (this.itemOf.has(one)) this.list.redrawRow(this.itemOf.get(one));
    this.list.reveal(this.itemOf.get(this.step) ?? 0);
    this.paintLanes();
    if (before !== undefined) history.replaceState(null, "", `#/e/${encodeURIComponent(this.key)}/s/${this.step}${row ? `/r/${encodeURIComponent(row)}` : ""}`);
    this.row = row;
    this.loading ??= this.load().finally(() => (this.loading = null));
    return this.loading;
  }

  // One request at a time: who drags the slider over a thousand steps loads the few where the hand rests.
  async load() {
    let wanted;
    let parts;
    do {
      wanted = this.step;
      parts = await Promise.all([this.body(wanted), getChanges(this.key, wanted, wanted)]);
    } while (wanted !== this.step);
    this.fill(parts[0], parts[1], this.row);
  }

  async body(number) {
    if (number === 0) return null;
    if (!this.bodies.has(number)) {
      const bodies = await getSteps(this.key, Math.max(1, number - WINDOW), number + WINDOW);
      // A window of bodies is kept, not the whole episode.
      if (this.bodies.size > 20 * WINDOW) this.bodies.clear();
      for (const body of bodies) this.bodies.set(body.number, body);
    }
    return this.bodies.get(number) ?? null;
  }

  fill(body, changes, row) {
    const head = this.detail.heads.find((one) => one.number === this.step);
    replace(this.said, h("h2", {}, "Said and called"), body ? this.drawCall(body, head) : h("p", { class: "muted" }, "Before the agent’s first call."));
    const link = isShared ? "" : h("a", { href: `api/episodes/${encodeURIComponent(this.key)}/steps/${this.step}/answer`, download: "" }, "Download the whole answer");
    replace(
      this.answered,
      h("h2", {}, "Answered ", body ? statusPill(body) : null, h("button", { type: "button", class: "quiet raw", "aria-pressed": String(this.raw), onclick: () => this.toggleRaw() }, "raw ", h("kbd", {}, "x"))),
      body ? renderAnswer(body, this.raw, link) : h("p", { class: "muted" }, "Nothing was asked yet."),
    );
    replace(
      this.changed,
      h("h2", {}, "Changed in the company"),
      this.detail.has_changes ? renderChanges(changes, { row, collateral: this.collateral }) : h("p", { class: "note" }, "This recording is older than row changes: it holds calls and answers alone."),
      this.detail.changes_cut ? h("p", { class: "muted small" }, `${this.detail.changes_cut} more changes of this episode were not recorded.`) : null,
    );
    if (row) this.changed.querySelector(".marked")?.scrollIntoView({ block: "nearest" });
    this.replayTools(body, head);
  }

  async replayTools(body, head) {
    if (!body || !this.context.session.capabilities.includes("replay")) return;
    const box = h("div", { class: "replay" });
    this.answered.append(box);
    const module = await import("./replay.js");
    module.replayTools(box, { key: this.key, step: body.number, head }, this.context);
  }

  drawCall(body, head) {
    const turn = this.detail.model_turns.find((one) => one.first <= body.number && body.number <= one.last);
    const empty = !body.arguments || Object.keys(body.arguments).length === 0;
    return [
      turn && turn.first === body.number ? speech(turn) : null,
      h("h3", { class: "mono operation" }, visible(body.operation)),
      h("p", { class: "muted small" }, [body.actor, clockTime(body.clock), duration(body.milliseconds / 1000), head && head.fault ? `planned fault: ${head.fault}` : ""].filter(Boolean).join(" · ")),
      empty ? h("p", { class: "muted" }, "No arguments.") : this.raw ? prettyJson(body.arguments) : fieldTable(body.arguments),
      body.method && body.target ? details("HTTP request", () => [h("p", { class: "mono small wrap" }, `${body.method} ${visible(body.target)}`), body.request ? longText(body.request) : null]) : null,
    ];
  }

  drawItem(index) {
    const item = this.items[index];
    if (item.turn) return h("div", { class: "step-item turn", role: "listitem" }, `▾ ${item.turn.asked || "orchestrator"}: ${oneLine(item.turn.arguments, 80)}`);
    const { head } = item;
    const changes = Object.entries(head.changes);
    const own = changes.filter(([actor]) => actor.startsWith("agent")).reduce((sum, [, number]) => sum + number, 0);
    const others = changes.reduce((sum, [, number]) => sum + number, 0) - own;
    const current = head.number === this.step;
    return h(
      "div",
      { class: `step-item${current ? " current" : ""}${item.depth ? " nested" : ""}`, role: "listitem" },
      h(
        "button",
        { type: "button", tabindex: "-1", "aria-current": current ? "step" : null, onclick: () => this.show(head.number) },
        h("span", { class: "n" }, head.number),
        h("span", { class: `product p-${head.product || "none"}` }),
        h("span", { class: "op" }, visible(head.operation)),
        head.lane ? h("span", { class: `lane ${head.lane}` }, head.fault || head.lane) : null,
        own ? h("span", { class: "actor agent" }, `${own}✎`) : null,
        others ? h("span", { class: "actor other" }, `${others}`) : null,
        h("span", { class: "status" }, head.status || ""),
      ),
    );
  }

  // Three lanes over the slider: products, what went wrong, changed rows.
  paintLanes() {
    const { heads } = this.detail;
    const width = this.canvas.clientWidth;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = width * ratio;
    this.canvas.height = 46 * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const cell = (width - 16) / (this.range[1] + 1);
    const size = Math.max(1, cell - (cell > 4 ? 1 : 0));
    for (const head of heads) {
      const x = 8 + head.number * cell;
      pen.fillStyle = colour(`--p-${head.product || "none"}`);
      pen.fillRect(x, 2, size, 12);
      if (head.lane) {
        pen.fillStyle = colour(`--lane-${head.lane}`);
        pen.fillRect(x, 17, Math.max(size, 2), 10);
      }
      const changes = Object.entries(head.changes);
      if (changes.length) {
        pen.fillStyle = colour(changes.some(([actor]) => actor.startsWith("agent")) ? "--agent" : "--other");
        pen.fillRect(x, 30, Math.max(size, 2), 14);
      }
    }
    pen.strokeStyle = colour("--ink");
    pen.strokeRect(8 + (this.step || 0) * cell - 0.5, 0.5, size + 1, 45);
  }

  jumpTo(event) {
    const box = this.canvas.getBoundingClientRect();
    this.show(Math.floor(((event.clientX - box.left - 8) / (box.width - 16)) * (this.range[1] + 1)));
  }

  toggleRaw() {
    this.raw = !this.raw;
    this.show(this.step);
  }

  // Returns whether the key meant something here.
  handleKey(key) {
    const go = (side) => {
      const next = this.context.neighbour(this.key, side, this.detail[side]);
      if (next) this.context.go(`#/e/${encodeURIComponent(next)}`);
    };
    const actions = {
      j: () => this.show(this.step + 1),
      k: () => this.show(this.step - 1),
      h: () => go("previous"),
      l: () => go("next"),
      n: () => this.review.focusNote(),
      x: () => this.toggleRaw(),
      v: () => this.selectTab(this.tab === "verdict" ? "steps" : "verdict"),
    };
    if (/^[1-9]$/.test(key)) this.review.label(Number(key));
    else if (actions[key]) actions[key]();
    else return false;
    return true;
  }

  close() {
    this.observer.disconnect();
  }
}

// The steps, and in a team each turn of the orchestrator above the steps of the specialist that it asked.
function listItems(detail) {
  const items = [];
  const starts = new Map(detail.turns.filter((turn) => turn.asked).map((turn) => [turn.first, turn]));
  const inside = (number) => detail.turns.some((turn) => turn.asked && turn.first <= number && number <= turn.last);
  for (const head of detail.heads) {
    if (starts.has(head.number)) items.push({ turn: starts.get(head.number) });
    items.push({ head, depth: inside(head.number) ? 1 : 0 });
  }
  return items;
}

function statusPill(body) {
  const kind = body.status >= 200 && body.status < 400 ? "ok" : "bad";
  return h("span", { class: `pill ${kind}` }, body.status || (body.method ? "no answer" : "not sent"));
}

function speech(turn) {
  return h(
    "div",
    { class: "speech" },
    turn.reasoning ? details("Reasoning", () => longText(turn.reasoning, { mono: false })) : null,
    turn.text ? longText(turn.text, { mono: false }) : null,
    h("p", { class: "muted small" }, `${count(turn.input_tokens)} tokens in, ${count(turn.output_tokens)} out · ${duration(turn.seconds)} · ${turn.finish_reason}`),
  );
}

function renderSetup(detail) {
  const { manifest } = detail;
  const rewards = Object.entries(detail.rewards);
  return h(
    "div",
    { class: "setup" },
    h("section", {}, h("h3", {}, "Brief"), h("blockquote", {}, longText(detail.brief || "(free play)", { mono: false }))),
    manifest.submitted !== null && manifest.submitted !== undefined ? h("section", {}, h("h3", {}, "Submitted answer"), prettyJson(manifest.submitted)) : null,
    detail.model ? h("section", {}, h("h3", {}, "Model"), fieldTable(detail.model)) : null,
    rewards.length ? h("section", {}, h("h3", {}, "Rewards of the team"), h("dl", { class: "facts" }, rewards.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, signed(value, 3)))))) : null,
    h("section", {}, h("h3", {}, "Manifest"), fieldTable({ ...manifest, brief: null, submitted: null })),
    h("section", {}, h("h3", {}, "Cost"), fieldTable(detail.cost), h("p", { class: "muted" }, `${plural(detail.heads.length, "step")}`)),
  );
}

function legend() {
  const item = (name, label) => h("span", {}, h("i", { class: `swatch ${name}` }), label);
  return h(
    "p",
    { class: "legend small", "aria-hidden": "true" },
    item("p-crm", "CRM"), item("p-desk", "desk"), item("p-billing", "billing"), item("p-ide", "IDE"),
    item("lane-fault", "fault"), item("lane-refusal", "refusal"), item("lane-retry", "retry"), item("lane-error", "our error"),
    item("agent", "agent’s rows"), item("other", "others’ rows"),
  );
}
