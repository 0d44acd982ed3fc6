// The data: from the server, or from the episodes that a shared file holds.

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
    location.assign("login");
    throw new ApiError("log in again");
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
  return ask(path, { method, headers, body: JSON.stringify(body) });
}

export async function getSession() {
  if (bundle) return { title: bundle.title, kind: "shared", reviewer: "", capabilities: [], progress: { done: true } };
  const session = await getJson("session");
  token = session.csrf;
  return session;
}

export async function getEpisodes(query) {
  return bundle ? filterShared(new URLSearchParams(query)) : getJson("episodes", query);
}

export async function getGroups(query) {
  return getJson("groups", query);
}

export async function getEpisode(key) {
  if (!bundle) return getJson(`episodes/${encodeURIComponent(key)}`);
  const index = bundle.episodes.findIndex((episode) => episode.detail.summary.key === key);
  if (index < 0) throw new ApiError("this file does not hold that episode");
  const keyAt = (at) => bundle.episodes[at]?.detail.summary.key ?? null;
  return { ...bundle.episodes[index].detail, previous: keyAt(index - 1), next: keyAt(index + 1) };
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

function filterShared(query) {
  const wanted = (name) => query.getAll(name);
  const words = (query.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  const rows = bundle.episodes
    .filter((episode) => words.every((word) => JSON.stringify(episode).toLowerCase().includes(word)))
    .map((episode) => episode.detail.summary)
    .filter((row) => ["family", "policy", "outcome"].every((name) => !wanted(name).length || wanted(name).includes(row[name])));
  const tally = (test) => rows.filter(test).length;
  const counts = { flagged: tally((row) => row.flags.length) };
  for (const outcome of ["passed", "failed", "unscored"]) counts[outcome] = tally((row) => row.outcome === outcome);
  const failures = tally((row) => row.blame === "harness");
  const offset = Number(query.get("offset") || 0);
  return {
    total: rows.length,
    offset,
    rows: rows.slice(offset, offset + Number(query.get("limit") || 100)),
    counts,
    environment_failures: failures,
    failure_rate: rows.length ? failures / rows.length : 0,
    failure_rate_limit: 0.05,
    facets: {},
  };
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
