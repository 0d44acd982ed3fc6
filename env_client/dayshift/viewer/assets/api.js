// The data: from the server, or from the episodes that a shared file holds.
import { compareEpisodes } from "./align.js";
import { selectShared } from "./bundle.js";

const shared = document.getElementById("shared");
const bundle = shared ? JSON.parse(shared.textContent) : null;
let token = "";

export const isShared = bundle !== null;

export class ApiError extends Error {}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(`api/${path}`, { credentials: "same-origin", ...options });
  } catch {
    throw new ApiError("the viewer does not answer: is it still running?");
  }
  if (response.status === 401) {
    location.assign(`login${location.hash}`);
    throw new ApiError("sign in again");
  }
  if (!response.ok) {
    const problem = await response.json().catch(() => ({ message: `the viewer answered ${response.status}` }));
    throw new ApiError(problem.message || problem.error);
  }
  return response;
}

export async function getJson(path, query) {
  const text = query ? new URLSearchParams(query).toString() : "";
  return (await ask(text ? `${path}?${text}` : path)).json();
}

export async function sendJson(path, body, method = "POST") {
  const headers = { "content-type": "application/json", "x-csrf-token": token };
  const text = JSON.stringify(body);
  // A small request outlives the page that sends it; browsers take no more than 64 KiB so.
  return ask(path, { method, headers, body: text, keepalive: text.length < 15000 });
}

export async function signOut() {
  await fetch("logout", { method: "POST", credentials: "same-origin", headers: { "x-csrf-token": token } });
  location.assign("login");
}

export async function getSession() {
  if (bundle) return { title: bundle.title, kind: "shared", reviewer: "", capabilities: [], progress: { done: true } };
  const session = await getJson("session");
  token = session.csrf;
  return session;
}

export async function getEpisodes(query) {
  return bundle ? selectShared(bundle, new URLSearchParams(query)) : getJson("episodes", query);
}

export async function getRuns(query) {
  return getJson("runs", query);
}

export async function getGroups(query) {
  return getJson("groups", query);
}

// `query` is the list's: the episodes before and after are those of its rows.
export async function getEpisode(key, query = "") {
  if (!bundle) return getJson(`episodes/${encodeURIComponent(key)}`, new URLSearchParams(query));
  const found = findShared(key);
  if (!found) throw new ApiError("this file does not hold that episode");
  const listed = (wanted) => selectShared(bundle, wanted).rows.map((row) => row.key);
  const filtered = listed(new URLSearchParams(query));
  const keys = filtered.includes(key) ? filtered : listed(new URLSearchParams());
  const at = keys.indexOf(key);
  return { ...found.detail, previous: keys[at - 1] ?? null, next: keys[at + 1] ?? null };
}

export async function getComparison(left, right) {
  if (!bundle) return getJson("compare", { left, right });
  const [one, other] = [findShared(left), findShared(right)];
  if (!one || !other) throw new ApiError("this file does not hold both episodes");
  return compareEpisodes(one, other);
}

export async function getSteps(key, first, last) {
  if (!bundle) return getJson(`episodes/${encodeURIComponent(key)}/steps`, { first, last });
  return findShared(key).steps.filter((step) => step.number >= first && step.number <= last);
}

export async function getChanges(key, first, last) {
  if (!bundle) return getJson(`episodes/${encodeURIComponent(key)}/changes`, { first, last });
  return findShared(key).changes.filter((change) => change.step >= first && change.step <= last);
}

export async function getReviews(key) {
  if (!bundle) return getJson("reviews", key ? { key } : undefined);
  const reviews = bundle.reviews.filter((review) => !key || review.key === key);
  return { taxonomy: bundle.taxonomy, reviews, agreement: { reviewers: {}, rows: [] } };
}

function findShared(key) {
  return bundle.episodes.find((episode) => episode.detail.summary.key === key);
}

// One HTML file that holds these episodes.
export async function downloadShare(keys, redact) {
  const response = await sendJson("share", { keys, redact });
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = "dayshift-share.html";
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
