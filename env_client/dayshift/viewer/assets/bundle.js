// The episodes of a shared file: filters, order, facets, as the server has them for recordings.

const EQUAL = { family: "family", policy: "policy", version: "version", outcome: "outcome", split: "split", run: "run", group: "group", seed: "seed" };
const AMONG = { product: (row) => row.products, flag: (row) => row.flags, fault: (row) => [row.faults, ...row.struck], label: (row) => row.labels };
const BOUNDS = { min_steps: (row, bound) => row.steps >= bound, max_steps: (row, bound) => row.steps <= bound, min_reward: (row, bound) => row.reward !== null && row.reward >= bound, max_reward: (row, bound) => row.reward !== null && row.reward <= bound };
const SORTED = { family: "family", seed: "seed", policy: "policy", outcome: "outcome", reward: "reward", steps: "steps", tokens: "tokens", cost: "cost", time: "wall_seconds", rows: "changed_rows" };
const FACETS = ["run", "family", "split", "policy", "version", "outcome"];

// `query` is a URLSearchParams; rows come with the labels of their reviews.
export function selectShared(bundle, query) {
  const words = (query.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
  const all = bundle.episodes.map(({ detail }) => ({ ...detail.summary, labels: labelsOf(bundle, detail.summary.key) }));
  const texts = (index) => JSON.stringify(bundle.episodes[index]).toLowerCase();
  const rows = all.filter((row, index) => isWanted(row, query) && (!words.length || words.every((word) => texts(index).includes(word))));
  const tally = (test) => rows.filter(test).length;
  const counts = { flagged: tally((row) => row.flags.length > 0) };
  for (const outcome of ["passed", "failed", "unscored"]) counts[outcome] = tally((row) => row.outcome === outcome);
  const failures = tally((row) => row.blame === "harness");
  const offset = Number(query.get("offset") || 0);
  return {
    total: rows.length,
    offset,
    rows: sortRows(rows, query.get("sort") || "").slice(offset, offset + Number(query.get("limit") || 100)),
    counts,
    environment_failures: failures,
    failure_rate: rows.length ? failures / rows.length : 0,
    failure_rate_limit: 0.05,
    facets: facetsOf(all),
  };
}

function labelsOf(bundle, key) {
  const own = bundle.reviews.filter((review) => review.key === key);
  return [...new Set(own.flatMap((review) => [...review.labels, review.blame]).filter(Boolean))].sort();
}

function isWanted(row, query) {
  const equal = Object.entries(EQUAL).every(([name, field]) => !query.getAll(name).length || query.getAll(name).includes(String(row[field])));
  const among = Object.entries(AMONG).every(([name, values]) => !query.getAll(name).length || values(row).some((value) => query.getAll(name).includes(value)));
  const bounds = Object.entries(BOUNDS).every(([name, holds]) => !query.get(name) || holds(row, Number(query.get(name))));
  return equal && among && bounds && (!query.get("flagged") || row.flags.length > 0);
}

// What has no value comes last in both directions.
function sortRows(rows, wanted) {
  const field = SORTED[wanted.replace(/^-/, "")];
  if (!field) return rows;
  const sign = wanted.startsWith("-") ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [one[field], other[field]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a < b ? -sign : a > b ? sign : 0;
  });
}

function facetsOf(rows) {
  const facets = {};
  const add = (name, values) => {
    const counts = new Map();
    for (const value of values) if (value !== "") counts.set(value, (counts.get(value) || 0) + 1);
    facets[name] = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([value, count]) => ({ value, count }));
  };
  for (const name of FACETS) add(name, rows.map((row) => row[EQUAL[name]]));
  for (const name of ["product", "flag", "fault"]) add(name, rows.flatMap(AMONG[name]));
  return facets;
}
