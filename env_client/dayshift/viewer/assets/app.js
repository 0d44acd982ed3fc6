// Routes, the header, and the keyboard.
import { announce, h, replace } from "./dom.js";
import { getJson, getSession, isShared, signOut } from "./api.js";
import { count, visible } from "./format.js";
import { renderList } from "./list.js";
import { renderEpisode } from "./episode.js";
import { renderCompare } from "./compare.js";
import { renderDashboard } from "./dashboard.js";

const KEYS = [
  ["j / k", "next and previous step"],
  ["h / l", "previous and next episode"],
  ["e / c", "next step with trouble, next step with changed rows (Shift: the one before)"],
  ["1 – 9", "set or clear a label"],
  ["n", "write a note (Esc leaves it)"],
  ["x", "raw JSON"],
  ["v", "verdict"],
  ["/", "search"],
  ["g", "the list"],
  ["?", "this help"],
];
const NEW_EPISODES_MS = 5000;
const main = document.getElementById("main");
const context = { session: null, query: "", queue: [], listQuery: "", endReview, questionsOpen: false, filtersOpen: false, go: goTo, neighbour: findNeighbour };
let current = null;
let visit = 0;
let routing = Promise.resolve();

function goTo(target, quietly = false) {
  if (quietly) {
    history.replaceState(null, "", target);
    route(true);
  } else location.hash = target.slice(1);
}

function endReview() {
  if (!context.queue.length) return;
  context.queue = [];
  drawNav(parseHash().parts[0] || "");
}

// Within a review, the sample; otherwise the list as it was last filtered and sorted.
function findNeighbour(key, side, fallback) {
  const at = context.queue.indexOf(key);
  if (at < 0) return fallback;
  return context.queue[at + (side === "next" ? 1 : -1)] ?? null;
}

function parseHash() {
  const text = location.hash.replace(/^#\/?/, "");
  const [path, query = ""] = text.split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query };
}

function route(keepFocus = false) {
  routing = showPage(keepFocus);
  return routing;
}

async function showPage(keepFocus) {
  const mine = ++visit;
  const { parts, query } = parseHash();
  context.query = query;
  current?.close?.();
  current = null;
  drawNav(parts[0] || "");
  const target = h("div", { class: "page" });
  try {
    // The page that is being redrawn stays until the new one is there: somebody may be typing in it.
    const page = await draw(target, parts, query, !keepFocus);
    if (mine !== visit) return page?.close?.();
    current = page ?? null;
  } catch (error) {
    replace(target, h("div", { class: "empty", role: "alert" }, h("h1", {}, "That did not work"), h("p", {}, error.message), h("p", {}, h("a", { href: "#/" }, "Back to the list"))));
  }
  if (mine !== visit) return;
  if (!target.isConnected) replaceAndTypeOn(target);
  current?.list?.redraw?.();
  main.dataset.ready = location.hash || "#/";
  document.title = `${target.querySelector("h1")?.textContent?.slice(0, 80) || "Episodes"} · Dayshift`;
}

// What was typed while the new page was made goes on in it.
function replaceAndTypeOn(target) {
  const held = document.activeElement;
  const next = held?.id && main.contains(held) ? target.querySelector(`#${CSS.escape(held.id)}`) : null;
  replace(main, target);
  if (!next) return;
  next.focus({ preventScroll: true });
  if (next.matches("input") && next.value !== held.value) {
    next.value = held.value;
    next.dispatchEvent(new Event("input"));
  }
}

async function draw(target, parts, query, isNew) {
  // Attached first: lists measure themselves.
  if (isNew) replace(main, target);
  switch (parts[0]) {
    case undefined:
      return renderList(target, context);
    case "e":
      return renderEpisode(target, context, parseEpisode(parts));
    case "compare":
      return renderCompare(target, context, { left: parts[1], right: parts[2] });
    case "dashboard":
      return renderDashboard(target, context);
    case "review":
      return startReview(query);
    case "live":
      return (await import("./live.js")).render(target, context);
    default:
      throw new Error(`there is no page called ${parts[0]}`);
  }
}

function parseEpisode(parts) {
  const at = parts.indexOf("s", 2);
  const row = parts.indexOf("r", 2);
  const step = at > 0 ? Number(parts[at + 1]) : null;
  return { key: parts[1], step: Number.isFinite(step) ? step : null, row: row > 0 ? parts[row + 1] : "", tab: parts.includes("verdict", 2) ? "verdict" : "" };
}

async function startReview(query) {
  const wanted = new URLSearchParams(query);
  if (!wanted.has("size")) wanted.set("size", "10");
  const { keys, reviewed } = await getJson("sample", wanted);
  if (!keys.length) throw new Error(reviewed ? `you have reviewed all of these (${count(reviewed)}) already` : "no episode matches, so there is nothing to review");
  context.queue = keys;
  announce(`${keys.length} episodes to review`);
  history.replaceState(null, "", `#/e/${encodeURIComponent(keys[0])}`);
  setTimeout(route);
}

function drawNav(page) {
  const { capabilities, title, progress } = context.session;
  const pages = [["", "Episodes", true], ["dashboard", "Dashboard", capabilities.includes("dashboard")], ["review", "Review", capabilities.includes("review")], ["live", "Live", capabilities.includes("live")]];
  replace(document.getElementById("nav"), pages.filter(([, , shown]) => shown).map(([path, label]) => h("a", { href: `#/${path}`, "aria-current": page === path ? "page" : null }, label)));
  const queue = context.queue.length ? ` · reviewing ${context.queue.length}` : "";
  document.getElementById("source").textContent = `${title}${progress.done === false ? ` · reading: ${count(progress.episodes)} episodes so far` : ""}${queue}`;
}

// Whoever has signed in sees under which name: it stands in reviews and in the audit log.
function drawAccount() {
  const { capabilities, reviewer } = context.session;
  if (!capabilities.includes("control")) return;
  replace(document.getElementById("account"), h("span", { class: "muted" }, visible(reviewer)), " ", h("button", { type: "button", class: "quiet", onclick: signOut }, "Sign out"));
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.matches("textarea, select") || (target.matches("input") && target.type !== "range"));
}

function handleKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const help = document.getElementById("help");
  if (event.key === "?") showHelp();
  else if (help.open) return;
  else if (event.key === "/") document.getElementById("search")?.focus();
  else if (event.key === "g") goTo("#/");
  // Who types faster than pages load loses no key.
  else if (!current) {
    routing.then(() => current?.handleKey?.(event.key));
    return;
  } else if (!current.handleKey?.(event.key)) return;
  event.preventDefault();
}

function showHelp() {
  const help = document.getElementById("help");
  replace(
    help,
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", { class: "keys" }, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)))),
    h("form", { method: "dialog" }, h("button", { class: "button" }, "Close")),
  );
  help.querySelector("button").addEventListener("click", (event) => {
    event.preventDefault();
    help.close();
  });
  if (!help.open) help.showModal();
}

// What is recorded while somebody reads appears by itself.
async function watchProgress() {
  let shown = context.session.progress.episodes;
  for (;;) {
    const { done, episodes } = context.session.progress;
    // The first rows are waited for; what comes after them is not urgent.
    await new Promise((resolve) => setTimeout(resolve, done === false ? (episodes ? 1000 : 50) : NEW_EPISODES_MS));
    if (document.hidden) continue;
    try {
      context.session.progress = (await getSession()).progress;
    } catch {
      // The viewer may have been stopped: the pages that are open stay as they are.
      continue;
    }
    const { parts } = parseHash();
    drawNav(parts[0] || "");
    if (parts.length === 0 && context.session.progress.episodes !== shown && !isBusy()) {
      shown = context.session.progress.episodes;
      await redrawList();
    }
  }
}

// Whoever has a row or a menu in hand keeps it; the list is drawn anew afterwards.
function isBusy() {
  const held = document.activeElement;
  return held instanceof HTMLElement && main.contains(held) && held.matches("select, a, button, summary");
}

async function redrawList() {
  const before = main.querySelector(".virtual.episodes");
  const top = before ? before.scrollTop : window.scrollY;
  await route(true);
  const after = main.querySelector(".virtual.episodes");
  if (after) after.scrollTop = top;
  else window.scrollTo(0, top);
}

async function start() {
  try {
    context.session = await getSession();
  } catch (error) {
    replace(main, h("p", { class: "empty", role: "alert" }, error.message));
    return;
  }
  document.body.classList.toggle("shared", isShared);
  drawAccount();
  window.addEventListener("hashchange", () => route());
  document.addEventListener("keydown", handleKey);
  document.getElementById("help-button").addEventListener("click", showHelp);
  document.querySelector("[data-skip]").addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  await route();
  if (!isShared) watchProgress();
}

start();
