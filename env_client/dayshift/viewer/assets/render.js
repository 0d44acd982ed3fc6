// What a product answered, shown as what it is: a ticket, a contact, an invoice, a diff, a terminal.
import { append, details, h } from "./dom.js";
import { bytes, epoch, money, oneLine, plural, terminalPieces, visible } from "./format.js";

const FIRST_CHARS = 6000;
const MORE_CHARS = 60000;
const MOST_ROWS = 40;
const MOST_DEPTH = 200;

// Text in chunks: a long one is not laid out at once.
export function longText(text, { mono = true, label = "" } = {}) {
  // What may scroll by itself can be scrolled with the keyboard.
  const scrolls = text.length > 1500 || text.split("\n", 26).length > 25;
  const reach = scrolls ? { tabindex: "0", role: "group", "aria-label": label || "Text" } : {};
  const box = h("div", { class: mono ? "text mono" : "text", ...reach });
  let shown = 0;
  const more = h("button", { type: "button", class: "quiet more" });
  const show = (size) => {
    more.remove();
    box.append(document.createTextNode(visible(text.slice(shown, shown + size))));
    shown += size;
    if (shown < text.length) {
      more.textContent = `Show more (${bytes(text.length - shown)} left${label ? ` of ${label}` : ""})`;
      box.append(more);
    }
  };
  more.addEventListener("click", () => show(MORE_CHARS));
  show(FIRST_CHARS);
  return box;
}

export function prettyJson(value) {
  return longText(typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

export function parseJson(text) {
  const start = text.trimStart()[0];
  if (start !== "{" && start !== "[" && start !== '"') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// `body` is a step with its texts; `raw` shows them as they came.
export function renderAnswer(body, raw, download) {
  const box = h("div", { class: "answer" });
  const cut = body.answer_bytes > body.answer.length;
  if (cut) {
    append(box, [
      h("p", { class: "note" }, `The first ${bytes(body.answer.length)} of ${bytes(body.answer_bytes)}${raw ? "" : ", as far as it is whole"}. `, download),
    ]);
  }
  if (!body.answer) return append(box, [h("p", { class: "muted" }, "No body.")]);
  const value = cut ? parseCut(body.answer) : parseShallow(body.answer);
  if (value === undefined) return append(box, [plainText(body)]);
  if (raw) return append(box, [cut ? longText(body.answer) : prettyJson(value)]);
  return append(box, [renderValue(value, body)]);
}

// Nothing that products answer is nested so deeply; what is would take more memory as indented text than there is.
function parseShallow(text) {
  return scanJson(text, text.length, () => {}) <= MOST_DEPTH ? parseJson(text) : undefined;
}

// As much of a cut document as is whole: it ends after its last whole record, and what is open is closed.
export function parseCut(text) {
  let [shallow, deep] = [0, 0];
  const depth = scanJson(text, text.length, (at, open) => {
    deep = at;
    if (open.length <= 2) shallow = at;
  });
  const end = shallow || deep;
  if (!end || depth > MOST_DEPTH) return undefined;
  let closing = [];
  scanJson(text, end + 1, (at, open) => (closing = open));
  return parseJson(text.slice(0, end) + closing.reverse().join(""));
}

// Calls `onComma` at every comma between values with the brackets that are open there; returns the largest depth.
function scanJson(text, end, onComma) {
  const open = [];
  let inText = false;
  let depth = 0;
  for (let at = 0; at < end; at++) {
    const sign = text[at];
    if (inText) {
      if (sign === "\\") at++;
      else if (sign === '"') inText = false;
    } else if (sign === '"') inText = true;
    else if (sign === "{" || sign === "[") depth = Math.max(depth, open.push(sign === "{" ? "}" : "]"));
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === ",") onComma(at, open);
  }
  return depth;
}

function plainText(body) {
  return isDiff(body.answer) ? renderDiff(body.answer) : longText(body.answer, { mono: body.status > 0 });
}

function renderValue(value, body) {
  if (typeof value === "string") return renderDiffOrText(value);
  if (body.status >= 400) return renderRefusal(value, body);
  const found = KINDS.find((kind) => kind.matches(value));
  return found ? found.draw(value, body) : fieldTable(value);
}

function renderDiffOrText(text) {
  return isDiff(text) ? renderDiff(text) : longText(text);
}

// What git or diff writes: a header of its own, or a hunk with its line numbers.
function isDiff(text) {
  return /^(diff --git |--- \S.*\n\+\+\+ \S|@@ -\d+(,\d+)? \+\d+(,\d+)? @@)/m.test(text.slice(0, 2000));
}

function renderRefusal(value, body) {
  const inner = value.error && typeof value.error === "object" ? value.error : value;
  const message = inner.message || inner.title || inner.description || value.description || value.message || "";
  return h(
    "div",
    { class: "card refusal" },
    h("h4", {}, `Refused with ${body.status}`),
    message ? h("p", {}, visible(oneLine(message, 600))) : null,
    details("The whole answer", () => prettyJson(value)),
  );
}

const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const has = (value, ...names) => isObject(value) && names.every((name) => name in value);

const KINDS = [
  { matches: (v) => patchesOf(v) !== null, draw: patchCards },
  { matches: (v) => has(v, "ticket") && isObject(v.ticket), draw: (v) => ticketCard(v.ticket) },
  { matches: (v) => has(v, "comments") && Array.isArray(v.comments), draw: (v) => commentThread(v.comments) },
  { matches: (v) => has(v, "properties") && isObject(v.properties), draw: crmCard },
  { matches: (v) => has(v, "object") && v.object === "invoice", draw: invoiceCard },
  { matches: (v) => has(v, "object", "id"), draw: billingCard },
  { matches: (v) => ["stdout", "exit_code", "exitCode"].some((name) => has(v, name)), draw: terminalCard },
  { matches: (v) => has(v, "content") && typeof v.content === "string", draw: fileCard },
  { matches: (v) => namedRecord(v) !== null, draw: (v) => namedCard(namedRecord(v)) },
  { matches: (v) => listOf(v) !== null, draw: recordTable },
];

// A single record with a name: a person, an organisation, an issue, a pull request.
function namedRecord(value) {
  const parts = isObject(value) ? Object.values(value) : [];
  const record = parts.length === 1 && isObject(parts[0]) ? parts[0] : value;
  const isNamed = ["name", "title", "subject", "email"].some((name) => isObject(record) && typeof record[name] === "string" && record[name]);
  return isNamed && ("id" in record || "number" in record) ? record : null;
}

function namedCard(record) {
  const text = record.body || record.description || record.notes;
  const nameOf = (part) => (isObject(part) ? part.login || part.name || part.ref || part.id : part);
  return h(
    "article",
    { class: "card" },
    h("h4", {}, "number" in record ? `#${record.number} ` : "", visible(record.title || record.name || record.subject || record.email)),
    chips([record.state, record.status, record.role, record.type, ...(Array.isArray(record.labels) ? record.labels.map(nameOf) : [])]),
    typeof text === "string" && text ? h("blockquote", {}, longText(text, { mono: false })) : null,
    facts({ email: record.email, phone: record.phone, organization: record.organization_id, by: nameOf(record.user), assignee: nameOf(record.assignee), branch: nameOf(record.head), into: nameOf(record.base), created: record.created_at, updated: record.updated_at, id: record.id }),
    details("All fields", () => fieldTable(record)),
  );
}

function listOf(value) {
  if (Array.isArray(value)) return value.every(isObject) && value.length ? { items: value, more: null } : null;
  if (!isObject(value)) return null;
  for (const name of ["results", "data", "tickets", "users", "organizations", "items", "articles", "rows"]) {
    if (Array.isArray(value[name]) && value[name].every(isObject)) {
      return { items: value[name], more: value.total ?? value.count ?? value.total_count ?? null };
    }
  }
  const lists = Object.entries(value).filter(([, part]) => Array.isArray(part) && part.length && part.every(isObject));
  return lists.length === 1 ? { items: lists[0][1], more: value.count ?? null } : null;
}

function ticketCard(ticket) {
  return h(
    "article",
    { class: "card ticket" },
    h("h4", {}, `#${ticket.id} `, visible(ticket.subject || "(no subject)")),
    chips([ticket.status, ticket.priority, ticket.type, ...(ticket.tags || []).slice(0, 12)]),
    ticket.description ? h("blockquote", {}, longText(ticket.description, { mono: false })) : null,
    facts({ requester: ticket.requester_id, assignee: ticket.assignee_id, created: ticket.created_at, updated: ticket.updated_at }),
    details("All fields", () => fieldTable(ticket)),
  );
}

function commentThread(comments) {
  return h(
    "ol",
    { class: "thread" },
    comments.slice(0, MOST_ROWS).map((comment) =>
      h(
        "li",
        { class: comment.public === false ? "comment internal" : "comment" },
        h("p", { class: "byline" }, `${comment.public === false ? "Internal note" : "Public reply"} by ${comment.author_id} · ${comment.created_at || ""}`),
        longText(comment.plain_body || comment.body || "", { mono: false }),
      ),
    ),
    comments.length > MOST_ROWS ? h("li", { class: "muted" }, `and ${comments.length - MOST_ROWS} more`) : null,
  );
}

function crmCard(record) {
  const p = record.properties;
  const person = [p.firstname, p.lastname].filter(Boolean).join(" ");
  const title = person || p.dealname || p.name || p.hs_task_subject || p.subject || `Record ${record.id}`;
  const amount = p.amount ? `${p.amount} ${p.deal_currency_code || ""}` : null;
  return h(
    "article",
    { class: "card" },
    h("h4", {}, visible(title)),
    chips([p.dealstage, p.lifecyclestage, p.pipeline, amount]),
    facts({ email: p.email, phone: p.phone, company: p.company, job: p.jobtitle, city: p.city, owner: p.hubspot_owner_id, close: p.closedate, id: record.id }),
    p.hs_note_body || p.hs_task_body ? h("blockquote", {}, longText(p.hs_note_body || p.hs_task_body, { mono: false })) : null,
    details("All properties", () => fieldTable(p)),
  );
}

function invoiceCard(invoice) {
  const lines = (invoice.lines && invoice.lines.data) || [];
  return h(
    "article",
    { class: "card" },
    h("h4", {}, `Invoice ${visible(invoice.number || invoice.id)}`),
    chips([invoice.status, invoice.collection_method, invoice.billing_reason]),
    h(
      "table",
      { class: "plain" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Line"), h("th", { scope: "col", class: "num" }, "Quantity"), h("th", { scope: "col", class: "num" }, "Amount"))),
      h(
        "tbody",
        {},
        lines.slice(0, MOST_ROWS).map((line) =>
          h("tr", {}, h("td", {}, oneLine(line.description || line.id)), h("td", { class: "num" }, line.quantity ?? ""), h("td", { class: "num" }, money(line.amount, line.currency))),
        ),
      ),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "Total"), h("td"), h("td", { class: "num" }, money(invoice.total, invoice.currency))),
        h("tr", {}, h("th", { scope: "row" }, "Due"), h("td"), h("td", { class: "num" }, money(invoice.amount_due, invoice.currency)))),
    ),
    facts({ customer: invoice.customer, created: epoch(invoice.created), due: invoice.due_date ? epoch(invoice.due_date) : null, id: invoice.id }),
    details("All fields", () => fieldTable(invoice)),
  );
}

function billingCard(item) {
  if (Array.isArray(item.data)) return recordTable(item);
  const amount = "amount" in item && item.currency ? money(item.amount, item.currency) : null;
  return h(
    "article",
    { class: "card" },
    h("h4", {}, `${String(item.object).replaceAll("_", " ")} ${visible(item.name || item.id)}`),
    chips([item.status, item.reason, amount]),
    facts({ customer: item.customer, email: item.email, charge: item.charge, invoice: item.invoice, created: item.created ? epoch(item.created) : null }),
    details("All fields", () => fieldTable(item)),
  );
}

function terminalCard(value, body) {
  const command = body?.arguments?.command;
  const code = value.exit_code ?? value.exitCode;
  const out = value.stdout ?? value.output ?? value.result ?? "";
  if (typeof out === "string" && isDiff(out)) {
    return h("div", { class: "terminal-box" }, exitCode(code), typeof command === "string" ? terminal(`$ ${command}`) : null, renderDiff(out), value.stderr ? terminal(value.stderr) : null);
  }
  return h(
    "div",
    { class: "terminal-box" },
    exitCode(code),
    terminal([typeof command === "string" ? `$ ${command}` : "", out, value.stderr ?? ""].filter(Boolean).join("\n") || "(no output)"),
  );
}

function exitCode(code) {
  return code === undefined || code === null ? null : h("p", { class: code === 0 ? "ok" : "bad" }, `exit code ${code}`);
}

export function terminal(text) {
  const box = h("div", { class: "terminal", tabindex: "0", role: "region", "aria-label": "Terminal" });
  for (const piece of terminalPieces(String(text).slice(0, MORE_CHARS))) {
    box.append(h("span", { class: piece.classes.join(" ") }, piece.text));
  }
  return box;
}

function fileCard(value) {
  const rest = Object.fromEntries(Object.entries(value).filter(([name]) => name !== "content"));
  return h("div", {}, Object.keys(rest).length ? facts(flatten(rest)) : null, renderDiffOrText(value.content));
}

// Fields that hold a diff: of one object, of the files of a list, or of the files within an object.
function patchesOf(value) {
  const files = Array.isArray(value) ? value : isObject(value) && Array.isArray(value.files) ? value.files : [value];
  const holds = (item) => isObject(item) && ["patch", "diff"].some((name) => typeof item[name] === "string" && item[name]);
  return files.some(holds) ? files.filter(isObject) : null;
}

function patchCards(value) {
  const files = patchesOf(value);
  const rest = isObject(value) && !files.includes(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => name !== "files")) : null;
  return h(
    "div",
    {},
    files.slice(0, MOST_ROWS).map(patchCard),
    files.length > MOST_ROWS ? h("p", { class: "muted" }, `and ${files.length - MOST_ROWS} more files`) : null,
    rest ? details("The other fields", () => fieldTable(rest)) : null,
  );
}

function patchCard(file) {
  const { patch, diff, ...rest } = file;
  const texts = [patch, diff].filter((text) => typeof text === "string" && text);
  const counts = "additions" in file ? ` +${file.additions} −${file.deletions}` : "";
  return h(
    "article",
    { class: "card" },
    h("h4", {}, visible(file.filename || file.path || file.title || "Changes"), h("span", { class: "muted small" }, ` ${visible(file.status || file.state || "")}${counts}`)),
    texts.map(renderDiff),
    texts.length ? null : h("p", { class: "muted" }, "No text changed."),
    details("All fields", () => fieldTable(rest)),
  );
}

export function renderDiff(text) {
  const box = h("div", { class: "text mono diff" });
  for (const line of text.slice(0, MORE_CHARS).split("\n")) {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@@") ? "hunk" : "";
    box.append(h("div", { class: kind }, visible(line.slice(0, 2000)) || " "));
  }
  return box;
}

function recordTable(value) {
  const { items, more } = listOf(value) || { items: value.data || [], more: null };
  const rows = items.slice(0, MOST_ROWS).map(recordCells);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, 6);
  return h(
    "div",
    { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Records" },
    h("p", { class: "muted" }, `${plural(items.length, "record")}${more !== null && more !== items.length ? ` of ${more}` : ""}`),
    items.length
      ? h(
          "table",
          { class: "plain records" },
          h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, visible(name))))),
          h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((name) => h("td", { title: oneLine(row[name] ?? "", 300) }, oneLine(row[name] ?? "", 60)))))),
        )
      : null,
    items.length > MOST_ROWS ? h("p", { class: "muted" }, `The first ${MOST_ROWS} are shown; the raw answer has all.`) : null,
  );
}

// The telling columns of a record first.
function recordCells(item) {
  const source = isObject(item.properties) ? { id: item.id, ...item.properties } : item;
  const telling = ["id", "number", "subject", "name", "firstname", "lastname", "email", "dealname", "title", "status", "state", "dealstage", "amount", "total", "phone", "priority", "description", "created", "created_at"];
  const cells = {};
  for (const name of [...telling, ...Object.keys(source)]) {
    const value = source[name];
    if (name in cells || /(^|_)url$/.test(name) || value === null || value === undefined || value === "" || typeof value === "object") continue;
    cells[name] = ["amount", "total"].includes(name) && source.currency ? money(value, source.currency) : ["created"].includes(name) ? epoch(value) : value;
    if (Object.keys(cells).length >= 6) break;
  }
  return cells;
}

export function flatten(value, prefix = "", into = {}) {
  if (isObject(value) && Object.keys(value).length) {
    for (const [name, part] of Object.entries(value)) flatten(part, prefix ? `${prefix}.${name}` : name, into);
  } else {
    into[prefix] = value;
  }
  return into;
}

// A name may be broken where its words end, so that no word is.
export function fieldName(name) {
  return visible(name)
    .split(/(?<=[._])/)
    .map((part, index) => (index ? [h("wbr"), part] : part));
}

export function fieldTable(value) {
  const fields = Object.entries(flatten(value)).filter(([, part]) => part !== null && part !== "" && !(typeof part === "object" && !Object.keys(part).length));
  const shown = fields.slice(0, 200);
  return h(
    "dl",
    { class: "fields" },
    shown.map(([name, part]) => [h("dt", {}, fieldName(name)), h("dd", {}, fieldValue(part))]),
    fields.length > shown.length ? [h("dt", {}, "…"), h("dd", {}, `${fields.length - shown.length} more`)] : null,
  );
}

export function fieldValue(part) {
  const text = typeof part === "string" ? part : JSON.stringify(part);
  if (text === undefined) return "";
  return text.length > 300 ? details(oneLine(text, 120), () => longText(text)) : visible(text);
}

function chips(values) {
  const known = values.filter((value) => value !== null && value !== undefined && value !== "");
  return known.length ? h("p", { class: "chips" }, known.map((value) => h("span", { class: "chip" }, oneLine(value, 60)))) : null;
}

function facts(values) {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, known.map(([name, value]) => h("div", {}, h("dt", {}, visible(name)), h("dd", {}, oneLine(value, 160)))));
}
