// One episode: three panes under one slider, the verdict, and the review.
import { details, h, redraw, replace, virtualList } from "./dom.js";
import { bytes, clockTime, count, dollars, duration, oneLine, plural, reward, signed, visible } from "./format.js";
import { downloadShare, getChanges, getEpisode, getSteps, isShared } from "./api.js";
import { fieldTable, longText, prettyJson, renderAnswer } from "./render.js";
import { renderChanges, rowAnchor } from "./rows.js";
import { renderVerdict } from "./verdict.js";
import { outcomePill } from "./list.js";
import { createReview } from "./review.js";

const WINDOW = 8;
const TABS = [["steps", "Steps"], ["verdict", "Verdict"], ["setup", "Brief and setup"]];
const PRODUCT_NAMES = { crm: "CRM", desk: "desk", billing: "billing", ide: "IDE" };
const LANE_NAMES = { fault: "fault", refusal: "refusal", malformed: "not sent", retry: "retry", error: "our error" };

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
    // Turns of an orchestrator whose steps are folded, by their numbers.
    this.folded = new Set();
    this.arrange();
    const last = detail.heads.length ? detail.heads[detail.heads.length - 1].number : 0;
    this.range = [0, last];
    this.draw();
  }

  arrange() {
    this.items = listItems(this.detail, this.folded);
    this.itemOf = new Map(this.items.map((item, index) => [item.head ? item.head.number : null, index]));
  }

  draw() {
    const { detail } = this;
    this.said = h("section", { class: "pane", tabindex: "0", "aria-label": "What the agent said and called" });
    this.answered = h("section", { class: "pane", tabindex: "0", "aria-label": "What the product answered" });
    this.changed = h("section", { class: "pane", tabindex: "0", "aria-label": "What changed in the company" });
    this.canvas = h("canvas", { class: "lanes", width: 100, height: 46, "aria-hidden": "true", onclick: (event) => this.jumpTo(event) });
    this.slider = h("input", { type: "range", id: "slider", min: String(this.range[0]), max: String(this.range[1]), "aria-label": "Step", oninput: (event) => this.show(Number(event.target.value)) });
    this.position = h("output", { for: "slider", class: "position" });
    this.list = virtualList({ label: "Steps", rowHeight: 26, count: this.items.length, className: "step-list", draw: (index) => this.drawItem(index) });
    this.steps = h(
      "div",
      { class: "steps-tab" },
      h("div", { class: "scrubber" }, h("div", { class: "lane-names", "aria-hidden": "true" }, ["calls", "trouble", "rows"].map((name) => h("span", {}, name))), this.canvas, this.slider, this.position, legend(detail.heads)),
      h("div", { class: "panes" }, h("div", { class: "pane-column" }, this.list.box, this.said), this.answered, this.changed),
    );
    this.steps.id = "tab-steps";
    this.verdict = h("div", { id: "tab-verdict" });
    this.setup = h("div", { id: "tab-setup" });
    for (const [id, label] of TABS) {
      this[id].setAttribute("role", "tabpanel");
      this[id].setAttribute("aria-label", label);
    }
    this.tabBar = h("div", { class: "tabs", role: "tablist", "aria-label": "Parts of the episode", onkeydown: (event) => this.moveTab(event) });
    this.reviewBox = h("aside", { class: "review", "aria-label": "Review" });
    replace(this.container, h("div", { class: "episode", "data-episode": this.key }, this.header(), h("div", { class: "episode-body" }, h("div", { class: "episode-main" }, this.steps, this.verdict, this.setup), this.reviewBox)));
    this.selectTab(this.tab);
    this.observer = new ResizeObserver(() => this.paintLanes());
    this.observer.observe(this.canvas);
  }

  header() {
    const { summary, cost, model } = this.detail;
    const time = [["calls", count(summary.calls)], ["wall", duration(summary.wall_seconds)], ["virtual", duration(summary.virtual_seconds)], ["tokens", count(summary.tokens)], ["cost", dollars(summary.cost)], ["answers", bytes(cost.answer_bytes)]].filter(([, value]) => value !== "–");
    return h(
      "div",
      { class: "episode-head" },
      h(
        "div",
        { class: "episode-title" },
        h("h1", {}, outcomePill(summary), " ", visible(summary.family), h("span", { class: "muted" }, ` ${summary.split} ${summary.seed}`), " ", h("span", { class: "reward" }, reward(summary.reward))),
        h("p", { class: "muted" }, `${visible(summary.policy)} ${visible(summary.version)}${model && model.model !== summary.policy ? ` · ${visible(model.model)}` : ""} · ${visible(summary.run)} · `, h("span", { title: this.key }, this.key.length > 12 ? `${this.key.slice(0, 10)}…` : this.key)),
        h("dl", { class: "facts" }, time.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
      ),
      summary.because ? h("p", { class: "because" }, visible(summary.because)) : null,
      h("div", { class: "episode-bar" }, this.tabBar, h("div", { class: "actions" }, this.neighbour("previous", "h", "Previous"), this.neighbour("next", "l", "Next"), this.groupTools(), isShared ? null : this.shareTools())),
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
    const close = (event) => {
      if (event.key === "Escape" && menu.open) {
        menu.open = false;
        menu.querySelector("summary").focus();
      } else if (event.type === "focusout" && event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
    };
    const menu = h(
      "details",
      { class: "menu", onkeydown: close, onfocusout: close },
      h("summary", { class: "button" }, "Share and export"),
      h(
        "div",
        { class: "menu-box" },
        h("p", {}, h("button", { type: "button", class: "button", onclick: () => downloadShare([this.key], true) }, "Share as a file (redacted)"), h("button", { type: "button", class: "button quiet", onclick: () => downloadShare([this.key], false) }, "not redacted", h("span", { class: "hidden-visually" }, " file"))),
        [["atif", "ATIF"], ["otel", "OpenTelemetry"]].map(([form, name]) => h("p", {}, this.exportLinks(form, name))),
      ),
    );
    return menu;
  }

  exportLinks(form, name) {
    const link = (query, file, label) => h("a", { class: "button quiet", href: `api/episodes/${encodeURIComponent(this.key)}/export/${form}${query}`, download: file }, label);
    return [link("", `${this.key}.redacted.${form}.json`, `${name} (redacted)`), link("?redact=0", `${this.key}.${form}.json`, ["not redacted", h("span", { class: "hidden-visually" }, ` ${name}`)])];
  }

  selectTab(name) {
    this.tab = name;
    redraw(
      this.tabBar,
      TABS.map(([id, label]) =>
        h("button", { type: "button", role: "tab", class: "tab", "data-key": id, "aria-controls": `tab-${id}`, "aria-selected": String(id === name), tabindex: id === name ? "0" : "-1", onclick: () => this.selectTab(id) }, label, id === "verdict" ? [" ", h("kbd", {}, "v")] : null),
      ),
    );
    this.steps.hidden = name !== "steps";
    this.verdict.hidden = name !== "verdict";
    this.setup.hidden = name !== "setup";
    if (name === "verdict" && !this.verdict.hasChildNodes()) this.verdict.append(renderVerdict(this.detail));
    if (name === "setup" && !this.setup.hasChildNodes()) this.setup.append(renderSetup(this.detail));
    if (name === "steps") this.list.redraw();
  }

  // The arrow keys move between the tabs, as in every list of tabs.
  moveTab(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const names = TABS.map(([id]) => id);
    this.selectTab(names[(names.indexOf(this.tab) + by + names.length) % names.length]);
    this.tabBar.querySelector("[aria-selected=true]").focus();
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
    this.unfold(this.step);
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

  // A step that is shown stands in the list.
  unfold(number) {
    if (number === 0 || this.itemOf.has(number)) return;
    this.folded.delete(turnOf(this.detail, number)?.number);
    this.arrange();
    this.list.resize(this.items.length);
  }

  toggleTurn(turn) {
    if (!this.folded.delete(turn.number)) this.folded.add(turn.number);
    this.arrange();
    this.list.resize(this.items.length);
    this.list.box.querySelector(`[data-turn="${turn.number}"]`)?.focus();
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
    replace(this.said, h("h2", {}, "Said and called"), body ? this.drawCall(body, head) : [h("p", { class: "muted" }, "Before the agent’s first call."), this.lastWords()]);
    const link = isShared ? "" : h("a", { href: `api/episodes/${encodeURIComponent(this.key)}/steps/${this.step}/answer`, download: "" }, "Download the whole answer");
    replace(
      this.answered,
      h("h2", {}, "Answered ", body ? statusPill(body) : null, h("button", { type: "button", class: "quiet raw", "aria-pressed": String(this.raw), onclick: () => this.toggleRaw() }, "raw ", h("kbd", {}, "x"))),
      body ? renderAnswer(body, this.raw, link) : h("p", { class: "muted" }, "Nothing was asked yet."),
    );
    replace(
      this.changed,
      h("h2", {}, "Changed in the company"),
      this.detail.has_changes ? renderChanges(changes, { row, collateral: this.collateral, place: `#/e/${encodeURIComponent(this.key)}/s/${this.step}` }) : h("p", { class: "note" }, "This recording is older than row changes: it holds calls and answers alone."),
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
    const { turns } = this.detail;
    const isLast = body.number === this.range[1];
    // What a specialist that made no call was asked and reported stands at the call that came next, or at the last one.
    const begun = turns.filter((one) => one.asked && (one.first === body.number || (isLast && one.first > body.number)));
    const ended = turns.filter((one) => one.asked && one.first <= one.last && one.last === body.number);
    const empty = !body.arguments || Object.keys(body.arguments).length === 0;
    return [
      begun.map((one) => [delegation(`The orchestrator asks ${one.asked}`, one.arguments?.request ?? one.arguments), one.last < one.first ? delegation(`${one.asked} ${one.ended} without a call`, one.answer) : null]),
      this.detail.model_turns.filter((one) => one.first === body.number).map(speech),
      h("h3", { class: "mono operation" }, visible(body.operation)),
      h("p", { class: "muted small" }, [body.actor, clockTime(body.clock), duration(body.milliseconds / 1000), head && head.fault ? `planned fault: ${head.fault}` : ""].filter(Boolean).join(" · ")),
      empty ? h("p", { class: "muted" }, "No arguments.") : this.raw ? prettyJson(body.arguments) : fieldTable(body.arguments),
      body.method && body.target ? details("HTTP request", () => [h("p", { class: "mono small wrap" }, `${body.method} ${visible(body.target)}`), body.request ? longText(body.request) : null]) : null,
      ended.map((one) => delegation(`${one.asked} ${one.ended}`, one.answer)),
      this.lastWords(),
    ];
  }

  // What the model wrote after its last call.
  lastWords() {
    const last = this.range[1];
    return this.step === last ? this.detail.model_turns.filter((one) => one.first > last).map(speech) : null;
  }

  drawItem(index) {
    const item = this.items[index];
    if (item.turn) {
      const isFolded = this.folded.has(item.turn.number);
      const request = item.turn.arguments?.request ?? item.turn.arguments;
      return h(
        "div",
        { class: "step-item turn", role: "listitem" },
        h("button", { type: "button", "data-turn": String(item.turn.number), "aria-expanded": String(!isFolded), onclick: () => this.toggleTurn(item.turn) }, `${isFolded ? "▸" : "▾"} ${item.turn.asked}: ${oneLine(request, 80)}`, h("span", { class: "muted" }, ` ${plural(item.turn.last - item.turn.first + 1, "step")}`)),
      );
    }
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
        own ? h("span", { class: "actor agent", title: `${plural(own, "row")} changed by the agent` }, `${own}✎`) : null,
        others ? h("span", { class: "actor other", title: `${plural(others, "row")} changed by others` }, `${others}`) : null,
        // What went well needs no number.
        head.status >= 200 && head.status < 300 ? null : h("span", { class: "status" }, head.status || ""),
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
    const style = getComputedStyle(document.documentElement);
    // Asked once for each name: a long episode has thousands of cells.
    const colours = new Map();
    const colour = (name) => {
      if (!colours.has(name)) colours.set(name, style.getPropertyValue(name).trim());
      return colours.get(name);
    };
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

  // The next step of a kind, in one direction; where there is none, nothing happens.
  jump(by, matches) {
    const heads = by > 0 ? this.detail.heads : [...this.detail.heads].reverse();
    const next = heads.find((head) => (head.number - this.step) * by > 0 && matches(head));
    if (next) this.show(next.number);
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
      e: () => this.jump(1, (head) => head.lane),
      E: () => this.jump(-1, (head) => head.lane),
      c: () => this.jump(1, isChanged),
      C: () => this.jump(-1, isChanged),
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
    this.review?.close();
  }
}

// Whether somebody other than time and automations changed a row.
function isChanged(head) {
  return Object.keys(head.changes).some((actor) => !["time", "rule", "system"].includes(actor));
}

// The orchestrator's turn that a specialist's step belongs to.
function turnOf(detail, number) {
  return detail.turns.find((turn) => turn.asked && turn.first <= number && number <= turn.last);
}

// The steps, and in a team each turn of the orchestrator above the steps of the specialist that it asked.
function listItems(detail, folded) {
  const items = [];
  const asked = detail.turns.filter((turn) => turn.asked);
  let next = 0;
  // Several turns may begin at one step: a specialist may report without a call of its own.
  const begin = (number) => {
    while (next < asked.length && asked[next].first <= number) items.push({ turn: asked[next++] });
  };
  for (const head of detail.heads) {
    begin(head.number);
    const turn = turnOf(detail, head.number);
    if (!turn || !folded.has(turn.number)) items.push({ head, depth: turn ? 1 : 0 });
  }
  begin(Infinity);
  return items;
}

function delegation(title, text) {
  return h("div", { class: "speech" }, h("p", { class: "muted small" }, title), typeof text === "string" ? longText(text, { mono: false }) : prettyJson(text));
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
    turn.calls.map((call) => h("p", { class: "mono small wrap" }, oneLine(call, 300))),
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

// The colours of what occurs in this episode.
function legend(heads) {
  const products = new Set(heads.map((head) => head.product));
  const lanes = new Set(heads.map((head) => head.lane));
  const item = (name, label) => h("span", {}, h("i", { class: `swatch ${name}` }), label);
  return h(
    "p",
    { class: "legend small", "aria-hidden": "true" },
    Object.entries(PRODUCT_NAMES).filter(([name]) => products.has(name)).map(([name, label]) => item(`p-${name}`, label)),
    Object.entries(LANE_NAMES).filter(([name]) => lanes.has(name)).map(([name, label]) => item(`lane-${name}`, label)),
    item("agent", "agent’s rows"), item("other", "others’ rows"),
  );
}
