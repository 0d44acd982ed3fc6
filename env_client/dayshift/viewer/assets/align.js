// Compares two attempts within a shared file, as the server does for recordings.

// Beyond this many pairs of calls, what lies between the equal beginning and the equal end is not aligned.
const MOST_PAIRS = 4000000;
const MOST_DIFFERENT_ROWS = 500;

// `left` and `right` are episodes of the file: detail, steps, changes.
export function compareEpisodes(left, right) {
  const summaries = [left.detail.summary, right.detail.summary];
  const calls = alignSteps(left, right);
  const first = calls.findIndex((call) => call.kind !== "same" || !call.same_answer);
  return {
    left: summaries[0],
    right: summaries[1],
    same_instance: ["family", "seed", "split", "world"].every((name) => summaries[0][name] === summaries[1][name]),
    same_world: left.detail.manifest.fingerprint === right.detail.manifest.fingerprint,
    calls,
    first_divergence: first < 0 ? null : first,
    rows: differentRows(left.changes, right.changes),
    rows_known: left.detail.has_changes && right.detail.has_changes,
  };
}

// Equal calls first; between them, calls of one operation with other arguments; the rest stands alone.
function alignSteps(left, right) {
  const sides = [left, right].map(({ detail, steps }) => steps.map((step, index) => ({ step, head: detail.heads[index] })));
  const exact = ({ step }) => `${step.operation} ${sortedJson(step.arguments)}`;
  const calls = [];
  for (const block of matchSequences(sides[0], sides[1], exact)) {
    if (block.equal) calls.push(pairCalls(block.left[0], block.right[0]));
    else {
      for (const part of matchSequences(block.left, block.right, ({ step }) => step.operation)) {
        if (part.equal) calls.push(pairCalls(part.left[0], part.right[0]));
        else calls.push(...part.left.map((item) => loneCall(item, "left")), ...part.right.map((item) => loneCall(item, "right")));
      }
    }
  }
  return calls;
}

function pairCalls(left, right) {
  return {
    left: left.head,
    right: right.head,
    kind: sortedJson(left.step.arguments) === sortedJson(right.step.arguments) ? "same" : "changed",
    same_answer: left.step.status === right.step.status && left.step.answer === right.step.answer,
    left_arguments: left.step.arguments,
    right_arguments: right.step.arguments,
  };
}

function loneCall(item, side) {
  const call = { left: null, right: null, kind: side, same_answer: false, left_arguments: null, right_arguments: null };
  return { ...call, [side]: item.head, [`${side}_arguments`]: item.step.arguments };
}

// Blocks in order: pairs that are equal, and what lies between two of them, by their longest common subsequence.
export function matchSequences(left, right, sign) {
  const [a, b] = [left.map(sign), right.map(sign)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const blocks = [];
  const gap = { left: [], right: [] };
  const flush = () => {
    if (gap.left.length || gap.right.length) blocks.push({ equal: false, left: gap.left.splice(0), right: gap.right.splice(0) });
  };
  const pair = (i, j) => {
    flush();
    blocks.push({ equal: true, left: [left[i]], right: [right[j]] });
  };
  for (let i = 0; i < start; i++) pair(i, i);
  const [rows, columns] = [a.length - start - end, b.length - start - end];
  const lengths = rows * columns <= MOST_PAIRS ? commonLengths(a, b, start, rows, columns) : null;
  let [i, j] = [0, 0];
  while (i < rows || j < columns) {
    if (lengths && i < rows && j < columns && a[start + i] === b[start + j]) pair(start + i++, start + j++);
    else if (j >= columns || (i < rows && (!lengths || lengths[(i + 1) * (columns + 1) + j] >= lengths[i * (columns + 1) + j + 1]))) gap.left.push(left[start + i++]);
    else gap.right.push(right[start + j++]);
  }
  for (let back = end; back > 0; back--) pair(a.length - back, b.length - back);
  flush();
  return blocks;
}

// For each pair of places, how many calls the two rests have in common.
function commonLengths(a, b, start, rows, columns) {
  const lengths = new Uint16Array((rows + 1) * (columns + 1));
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const here = i * (columns + 1) + j;
      lengths[here] = a[start + i] === b[start + j] ? lengths[here + columns + 2] + 1 : Math.max(lengths[here + columns + 1], lengths[here + 1]);
    }
  }
  return lengths;
}

function differentRows(left, right) {
  const ends = [finalRows(left), finalRows(right)];
  const differences = [];
  for (const place of new Set([...ends[0].keys(), ...ends[1].keys()])) {
    const own = ends.map((end) => end.get(place));
    const { product, table, id, before } = own[0] || own[1];
    const images = own.map((row) => (row ? row.after : before));
    if (sortedJson(images[0]) !== sortedJson(images[1])) differences.push({ product, table, id, left: images[0], right: images[1], left_touched: Boolean(own[0]), right_touched: Boolean(own[1]), before });
  }
  return differences.slice(0, MOST_DIFFERENT_ROWS);
}

// The first and the last image of each changed row; rows that the agent wrote come first.
function finalRows(changes) {
  const rows = new Map();
  for (const change of changes) {
    const place = JSON.stringify([change.product, change.table, String(change.id)]);
    const { before, byAgent } = rows.get(place) || { before: change.before, byAgent: false };
    rows.set(place, { product: change.product, table: change.table, id: String(change.id), before, after: change.after, byAgent: byAgent || change.actor.startsWith("agent") });
  }
  return new Map([...rows].sort(([, one], [, other]) => Number(other.byAgent) - Number(one.byAgent)));
}

function sortedJson(value) {
  const sorted = (part) => {
    if (Array.isArray(part)) return part.map(sorted);
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.keys(part).sort().map((name) => [name, sorted(part[name])]));
  };
  return JSON.stringify(sorted(value)) ?? "";
}
