// Numbers, times and untrusted text as people read them.

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
const SGR = /\u001b\[([0-9;]*)m/g;

// Control and direction characters become visible signs: they can neither hide nor turn around what is read.
export function visible(text) {
  return String(text)
    .replace(/\r\n/g, "\n")
    .replace(CONTROL, (sign) => (sign === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + sign.charCodeAt(0))))
    .replace(DIRECTION, (sign) => `⟦U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟧`);
}

// The colours of a terminal as pieces {text, classes}; every other escape sequence becomes visible.
export function terminalPieces(text) {
  const pieces = [];
  let classes = [];
  let last = 0;
  for (const match of String(text).matchAll(SGR)) {
    if (match.index > last) pieces.push({ text: visible(text.slice(last, match.index)), classes });
    classes = nextClasses(classes, match[1]);
    last = match.index + match[0].length;
  }
  if (last < text.length) pieces.push({ text: visible(text.slice(last)), classes });
  return pieces;
}

function nextClasses(classes, codes) {
  let next = [...classes];
  for (const code of (codes || "0").split(";").map(Number)) {
    if (code === 0) next = [];
    else if (code === 1) next.push("bold");
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) next.push(`ansi-${code % 10}`);
  }
  return next;
}

export function reward(value) {
  return value === null || value === undefined ? "–" : signed(value, 3);
}

export function signed(value, digits) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 ? `−${text}` : `+${text}`;
}

export function percent(value, digits = 0) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;
}

export function count(value) {
  return value === null || value === undefined ? "–" : Number(value).toLocaleString("en");
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86400).toFixed(1)} days`;
}

export function dollars(value) {
  return value === null || value === undefined ? "–" : `$${value.toFixed(value < 1 ? 4 : 2)}`;
}

export function clockTime(iso) {
  return iso ? iso.slice(0, 19).replace("T", " ") : "";
}

export function money(minor, currency) {
  const digits = ["jpy", "krw", "clp", "vnd"].includes(String(currency).toLowerCase()) ? 0 : 2;
  const value = (Number(minor) / 10 ** digits).toLocaleString("en", { minimumFractionDigits: digits });
  return `${value} ${String(currency || "").toUpperCase()}`;
}

// Milliseconds or seconds since 1970 as a date.
export function epoch(value) {
  const number = Number(value);
  if (!Number.isFinite(number) || number < 1e8) return String(value);
  const date = new Date(number > 1e11 ? number : number * 1000);
  return Number.isNaN(date.getTime()) ? String(value) : date.toISOString().slice(0, 16).replace("T", " ");
}

export function oneLine(value, length = 120) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const flat = visible((text ?? "").slice(0, 4 * length)).replace(/\s+/g, " ");
  return flat.length > length ? `${flat.slice(0, length - 1)}…` : flat;
}

export const ACTORS = {
  agent: "agent",
  "agent's job": "agent’s job",
  customer: "customer",
  colleague: "colleague",
  rule: "automation",
  time: "time",
  system: "setup",
};

export function actorName(actor) {
  return ACTORS[actor] || actor;
}

export function actorClass(actor) {
  return { agent: "agent", "agent's job": "agent", customer: "customer", colleague: "colleague" }[actor] || "other";
}
