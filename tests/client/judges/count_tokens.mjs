// Counts the tokens of texts: JSON of names and texts comes in, JSON of names and counts goes out.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const require = createRequire(process.argv[2]);
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
const texts = JSON.parse(readFileSync(0, "utf8"));
const counts = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, encode(text).length]));
process.stdout.write(JSON.stringify(counts));
