// Open episodes as they run: services, leases, the tail of one episode, and what waits for a person.
import { announce, h, redraw, replace } from "./dom.js";
import { getJson, sendJson } from "./api.js";
import { actorClass, actorName, clockTime, count, duration, oneLine, plural, visible } from "./format.js";
import { longText, parseJson, prettyJson } from "./render.js";

const MOST_LINES = 500;
const MOST_EVENTS = 50;
const MOST_EPISODES = 100;
// The log is read again with every so many looks at the open episodes, and after everything that is done here.
const LOOKS_PER_LOG = 5;

export async function render(container, context) {
  addStyle();
  const page = new LivePage(container, context);
  await page.open();
  return page;
}

// The policy allows no inline style, so that these rules come from a file of their own.
function addStyle() {
  if (document.querySelector("link[data-live]")) return;
  document.head.append(h("link", { rel: "stylesheet", "data-live": "true" }));
  document.head.lastChild.setAttribute("href", "assets/live.css");
}

class LivePage {
  constructor(container, context) {
    this.container = container;
    this.context = context;
    this.watched = null;
    this.services = h("div", { class: "scroll-x" });
    this.approvals = h("div", { class: "approvals" });
    this.episodes = h("div", { class: "scroll-x" });
    this.seats = h("span", { class: "muted small" });
    this.finder = h("input", { type: "search", class: "live-find", "aria-label": "Find open episodes", placeholder: "task, episode or person", autocomplete: "off", oninput: () => this.showEpisodes() });
    this.audit = h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Entries of the audit log" });
    this.looks = 0;
    this.problem = h("p", { class: "bad", role: "alert" });
    this.tail = h("section", { class: "panel tail", "aria-label": "The episode as it runs", hidden: true });
  }

  async open() {
    replace(
      this.container,
      h("div", { class: "live" },
        h("h1", {}, "Live"),
        this.problem,
        this.approvals,
        h("section", { class: "panel", "aria-labelledby": "live-episodes" }, h("div", { class: "live-title" }, h("h2", { id: "live-episodes" }, "Open episodes"), this.seats, this.finder), this.episodes),
        this.tail,
        h("section", { class: "panel", "aria-labelledby": "live-services" }, h("h2", { id: "live-services" }, "Services"), this.services),
        h("section", { class: "panel", "aria-labelledby": "live-audit" }, h("h2", { id: "live-audit" }, "Audit log"), this.audit),
      ),
    );
    await this.refresh();
    this.overview = new EventSource("api/live/events");
    this.overview.addEventListener("overview", (event) => {
      this.show(JSON.parse(event.data));
      this.looks += 1;
      if (this.looks % LOOKS_PER_LOG === 0) this.showAudit().catch((error) => this.complain(error.message));
    });
    this.overview.addEventListener("problem", (event) => this.complain(JSON.parse(event.data).message));
  }

  async refresh() {
    this.show(await getJson("live"));
    await this.showAudit();
  }

  async showAudit() {
    const { events } = await getJson("audit");
    const rows = events.slice(0, MOST_EVENTS).map((event) =>
      h("tr", {},
        h("td", {}, h("time", {}, clockTime(event.at))),
        h("th", { scope: "row" }, visible(event.kind)),
        h("td", {}, visible(event.person || "–")),
        h("td", { class: "mono" }, event.episode_id ? h("a", { "data-key": `${event.at}-${event.kind}-${event.episode_id}`, href: `#/e/${encodeURIComponent(event.episode_id)}` }, event.episode_id.slice(0, 8)) : event.product || "–"),
        h("td", {}, oneLine(event.because, 160)),
      ),
    );
    redraw(this.audit, rows.length ? table(["Time", "What", "Who", "Episode", "Because"], rows, "audit-table") : h("p", { class: "muted" }, "Nobody has stepped in yet."));
  }

  close() {
    this.overview?.close();
    this.watched?.close();
  }

  complain(message) {
    this.problem.textContent = message;
  }

  show(overview) {
    this.complain("");
    this.showServices(overview);
    this.latest = overview;
    this.showEpisodes();
    this.showApprovals(overview.approvals);
  }

  showServices(overview) {
    const known = (value, unit) => (value === null || value === undefined ? "–" : `${count(value)}${unit}`);
    const rows = overview.services.map((service) =>
      h("tr", {},
        h("th", { scope: "row" }, service.product, h("span", { class: "muted mono" }, ` ${service.instance.slice(0, 6)}`)),
        h("td", {}, h("span", { class: `pill ${service.state === "ok" ? "ok" : "bad"}` }, service.state)),
        h("td", { class: "num" }, count(service.episodes)),
        h("td", { class: "num" }, known(service.qps, "")),
        h("td", { class: "num" }, known(service.p99_ms, " ms")),
        h("td", { class: "num" }, known(service.memory_mb, " MB")),
      ),
    );
    for (const part of ["ledger", "registry"]) {
      rows.push(h("tr", {}, h("th", { scope: "row" }, part), h("td", { colspan: "5" }, h("span", { class: `pill ${overview[part] === "ok" ? "ok" : "bad"}` }, overview[part]))));
    }
    replace(this.services, table(["Service", "State", "Episodes", "Requests/s", "p99", "Memory"], rows));
  }

  // What needs somebody stands first; of a training run's many episodes the others are found by their task or id.
  showEpisodes() {
    if (!this.latest) return;
    const { episodes, max_episodes: most } = this.latest;
    const words = this.finder.value.toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = (episode) => `${episode.task || "free play"} seed ${episode.seed} ${episode.episode_id} ${episode.held_by || ""} ${episode.because || ""}`.toLowerCase();
    const found = episodes.filter((episode) => words.every((word) => textOf(episode).includes(word)));
    const rank = (episode) => (episode.because ? 0 : episode.held_by ? 1 : 2);
    const shown = found.sort((one, other) => rank(one) - rank(other)).slice(0, MOST_EPISODES);
    this.seats.textContent = `${count(episodes.length)} of at most ${count(most)}`;
    this.finder.hidden = episodes.length < 2 && !words.length;
    if (!shown.length) {
      replace(this.episodes, h("p", { class: "muted" }, episodes.length ? "No open episode matches." : "No episode is open."));
      return;
    }
    const rows = shown.map((episode) => this.drawEpisode(episode));
    const rest = found.length - shown.length;
    redraw(this.episodes, table(["Episode", "Task", "Steps", "Clock", "Lease", "State", "Do"], rows), rest ? h("p", { class: "muted small" }, `and ${count(rest)} more: search for a task or an episode`) : null);
  }

  drawEpisode(episode) {
    const budget = episode.budget ? ` of ${episode.budget.steps}` : "";
    const state = episode.because ? ["bad", episode.because] : episode.taken_over ? ["warn", `${episode.held_by} plays`] : episode.held_by ? ["warn", `paused by ${episode.held_by}`] : ["ok", "runs"];
    const deed = (name, label) => h("button", { type: "button", class: "button small", "data-deed": `${name}-${episode.episode_id}`, "data-key": `${name}-${episode.episode_id}`, onclick: () => this.act(episode, name) }, label);
    return h("tr", { "data-episode": episode.episode_id },
      h("th", { scope: "row", class: "mono" }, episode.episode_id.slice(0, 8)),
      h("td", {}, episode.task || "free play", h("span", { class: "muted" }, ` · seed ${episode.seed}`)),
      h("td", { class: "num" }, `${count(episode.steps)}${budget}`),
      h("td", {}, h("time", {}, clockTime(episode.clock))),
      h("td", {}, h("time", {}, episode.lease_left === null ? "held" : duration(episode.lease_left))),
      h("td", {}, h("span", { class: `pill ${state[0]}` }, state[1])),
      h("td", {}, h("div", { class: "actions" }, deed("watch", "Follow"), episode.held_by ? deed("resume", "Resume") : deed("pause", "Pause"), deed("takeover", "Take over"), deed("close", "Close"))),
    );
  }

  async act(episode, name) {
    if (name === "watch") return this.follow(episode);
    if (name === "close" && !confirm(`Close episode ${episode.episode_id.slice(0, 8)}? It ends without a verdict.`)) return undefined;
    try {
      const answer = await (await sendJson(`live/${episode.episode_id}/${name}`, {})).json();
      announce(`${name}: ${episode.episode_id.slice(0, 8)}`);
      if (name === "takeover") this.follow(episode, answer);
      if (name === "resume") this.watched?.handBack();
      await this.refresh();
    } catch (error) {
      this.complain(error.message);
    }
    return undefined;
  }

  follow(episode, context) {
    this.watched?.close();
    this.watched = new Tail(this.tail, episode, context, () => this.act(episode, "resume"));
  }

  showApprovals(approvals) {
    const shown = approvals.map((approval) => approval.approval_id).join();
    if (this.shownApprovals === shown) return;
    this.shownApprovals = shown;
    replace(this.approvals, approvals.map((approval) => this.drawApproval(approval)));
    if (approvals.length) announce(`${plural(approvals.length, "approval")} waiting`);
  }

  drawApproval(approval) {
    const id = `note-${approval.approval_id}`;
    const note = h("textarea", { id, rows: "2", maxlength: "5000" });
    const decide = async (decision) => {
      try {
        await sendJson(`approvals/${approval.approval_id}`, { decision, note: note.value });
        announce(decision === "approve" ? "approved" : "declined");
        await this.refresh();
      } catch (error) {
        this.complain(error.message);
      }
    };
    return h("section", { class: "panel approval", "aria-label": "Waiting for approval", "data-approval": approval.approval_id },
      h("h2", {}, "Waiting for a person"),
      h("p", { class: "muted" }, `${approval.task} · episode ${approval.episode_id.slice(0, 8)} · thread ${approval.thread} · ${clockTime(approval.clock)}`),
      h("blockquote", { class: "prewrap" }, visible(approval.note)),
      h("p", {}, "Before it is approved, nobody may create: ", approval.gates.join(", ") || "nothing by name", "."),
      h("p", {}, "An approval says: ", h("q", {}, visible(approval.reply))),
      h("label", { for: id }, "Other words (they are written on the thread)"),
      note,
      h("p", { class: "actions" },
        h("button", { type: "button", class: "button primary", onclick: () => decide("approve") }, "Approve"),
        h("button", { type: "button", class: "button", onclick: () => decide("decline") }, "Decline"),
      ),
    );
  }
}

class Tail {
  constructor(box, episode, context, resume) {
    this.box = box;
    this.episode = episode;
    this.lines = h("ol", { class: "tail-lines", tabindex: "0", "aria-label": "Calls and changes" });
    this.state = h("span", { class: "muted" }, "connecting …");
    this.form = h("div", {});
    box.hidden = false;
    replace(box, h("h2", {}, `Episode ${episode.episode_id.slice(0, 8)} `, this.state), h("p", { class: "prewrap" }, visible(episode.brief)), this.lines, this.form);
    if (context) this.play(context, resume);
    this.stream = new EventSource(`api/live/${episode.episode_id}/events`);
    this.stream.addEventListener("tail", (event) => this.show(JSON.parse(event.data)));
    this.stream.addEventListener("ended", (event) => this.end(JSON.parse(event.data)));
    this.stream.addEventListener("problem", (event) => (this.state.textContent = JSON.parse(event.data).message));
    this.stream.addEventListener("error", () => this.stop("the stream has ended"));
  }

  close() {
    this.stream.close();
    this.box.hidden = true;
  }

  stop(message) {
    this.stream.close();
    this.state.textContent = message;
  }

  handBack() {
    replace(this.form);
  }

  end(state) {
    this.stop(`ended: ${state.outcome || state.state}${state.because ? `, ${state.because}` : ""}`);
    replace(this.form);
    announce("the episode has ended");
  }

  show(tail) {
    this.state.textContent = `${plural(tail.state.steps, "step")} · ${clockTime(tail.state.clock)}`;
    const atEnd = this.lines.scrollTop + this.lines.clientHeight >= this.lines.scrollHeight - 8;
    for (const step of tail.steps) this.lines.append(drawStep(step));
    for (const [product, changes] of Object.entries(tail.changes)) {
      for (const change of changes) this.lines.append(drawChange(product, change));
    }
    while (this.lines.childElementCount > MOST_LINES) this.lines.firstChild.remove();
    if (atEnd) this.lines.scrollTop = this.lines.scrollHeight;
  }

  // What the agent was given, and nothing more: the brief, the calls so far, and its tools.
  play(context, resume) {
    const operation = h("input", { id: "play-operation", list: "play-operations", autocomplete: "off", spellcheck: "false" });
    const parameters = h("div", {});
    const schema = h("details", {}, h("summary", {}, "Parameters"), parameters);
    const options = h("datalist", { id: "play-operations" }, [...context.operations, ...context.special].map((name) => h("option", { value: name })));
    const values = h("textarea", { id: "play-arguments", rows: "4", spellcheck: "false", class: "mono" });
    values.value = "{}";
    const answer = h("div", { class: "play-answer", "aria-live": "polite" });
    operation.addEventListener("input", () => {
      const tool = context.tools.find((each) => each.name === operation.value.replaceAll(".", "_"));
      replace(parameters, tool ? [h("p", {}, visible(tool.description)), prettyJson(tool.parameters)] : h("p", { class: "muted" }, "Search for it with the tools, as the agent has to."));
    });
    const send = async () => {
      try {
        const body = { operation: operation.value.trim(), arguments: JSON.parse(values.value || "{}") };
        const result = await (await sendJson(`live/${this.episode.episode_id}/act`, body)).json();
        replace(answer, h("p", {}, result.verdict ? `${result.verdict.outcome}, reward ${result.verdict.reward}` : `status ${result.status} · ${clockTime(result.clock)}`), shownAnswer(result.answer));
      } catch (error) {
        replace(answer, h("p", { class: "bad", role: "alert" }, error.message));
      }
    };
    replace(
      this.form,
      h("div", { class: "play" },
        h("h3", {}, "Play on from here"),
        h("label", { for: "play-operation" }, "Operation"), operation, options, schema,
        h("label", { for: "play-arguments" }, "Arguments, as JSON"), values,
        h("p", { class: "actions" }, h("button", { type: "button", class: "button primary", onclick: send }, "Send"), h("button", { type: "button", class: "button", onclick: resume }, "Hand back to the agent")),
        answer,
      ),
    );
  }
}

function shownAnswer(text) {
  const value = parseJson(text);
  return value === undefined ? longText(text) : prettyJson(value);
}

function drawStep(step) {
  const bad = step.status >= 400 || step.status === 0;
  return h("li", { class: bad ? "line bad" : "line" },
    h("span", { class: "muted" }, clockTime(step.clock)), " ",
    h("strong", {}, step.operation), " ",
    h("span", { class: `pill ${bad ? "bad" : "ok"}` }, step.fault || step.status), " ",
    h("span", { class: "mono" }, oneLine(visible(step.request || step.query || step.path))),
    h("div", { class: "muted mono" }, oneLine(visible(step.answer), 200)),
  );
}

function drawChange(product, change) {
  const verb = change.before === null ? "created" : change.after === null ? "removed" : "changed";
  return h("li", { class: `line change-line ${actorClass(change.actor)}` }, h("span", { class: "muted" }, clockTime(change.at)), ` ${actorName(change.actor)} ${verb} ${product} ${change.table} ${change.id}`);
}

function table(heads, rows, name = "") {
  const isNumber = (index) => rows[0]?.children[index]?.classList.contains("num");
  return h("table", { class: `live-table ${name}` }, h("thead", {}, h("tr", {}, heads.map((head, index) => h("th", { scope: "col", class: isNumber(index) ? "num" : "" }, head)))), h("tbody", {}, rows));
}
