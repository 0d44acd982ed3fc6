/**
 * Calls the code of a tree under Node, one case at a time: a JSON request a line, a JSON answer a line.
 *
 * As with Python's, it knows no expected value and no case but the present one: code that runs here may lie, and gains
 * nothing by it. How a case is played is the tree's `harness/cases.mjs`, which is Dayshift's own.
 */

import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

// Before any code of the tree could put something else in their place.
const { parse, stringify } = JSON;
const text = String;
const ANSWERS = 3;
const LONGEST = 1 << 20;
const [, , root] = process.argv;

function decode([kind, content]) {
  switch (kind) {
    case 'int':
    case 'float':
      return Number(content);
    case 'list':
    case 'tuple':
      return content.map(decode);
    case 'dict':
      return Object.fromEntries(content.map(([key, value]) => [decode(key), decode(value)]));
    default:
      return content;
  }
}

function write(answer) {
  const line = Buffer.from(`${answer}\n`);
  let done = 0;
  while (done < line.length) {
    done += writeSync(ANSWERS, line, done);
  }
}

async function answer(steps) {
  const results = [];
  try {
    const { play } = await import(pathToFileURL(`${root}/harness/cases.mjs`).href);
    for await (const result of play(steps.map((step) => [step.call, ...step.args.map(decode)]))) {
      results.push(['gave', result]);
    }
  } catch (error) {
    results.push(['raised', text(error?.name ?? error)]);
  }
  const line = stringify(results);
  return line.length > LONGEST ? '[["unspeakable","TooLarge"]]' : line;
}

for await (const line of createInterface({ input: process.stdin })) {
  write(await answer(parse(line)));
}
process.exit(0);
