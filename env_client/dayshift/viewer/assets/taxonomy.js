// The team's taxonomy: labels with their keys, and the questions of the review. Nothing is kept until it is saved.
import { h, replace } from "./dom.js";
import { visible } from "./format.js";
import { sendJson } from "./api.js";

const LABEL_BLAMES = ["", "harness", "model", "either"];

export function taxonomyPart(taxonomy) {
  const box = h("div", { class: "taxonomy-part" });
  const show = (current, message = "") => {
    const status = h("p", { class: "muted small", role: "status" }, message);
    replace(
      box,
      h("ol", { class: "taxonomy" }, current.labels.map((label) => h("li", {}, h("strong", {}, visible(label.title)), " ", label.blame ? h("span", { class: "chip" }, label.blame) : null, h("span", { class: "muted" }, visible(label.description))))),
      h("p", { class: "muted small" }, `The first nine labels have the keys 1 to 9. The form asks ${current.questions.length === 1 ? "one question" : `${current.questions.length} questions`}.`),
      h("p", { class: "actions" }, h("button", { type: "button", class: "button", onclick: () => edit(current) }, "Edit the taxonomy")),
      status,
    );
  };
  const edit = (current) => {
    const form = new TaxonomyForm(current, (saved) => show(saved, "saved"), () => show(current));
    replace(box, form.node);
    form.node.querySelector("input")?.focus();
  };
  show(taxonomy);
  return box;
}

class TaxonomyForm {
  constructor(taxonomy, saved, cancelled) {
    // Edited in a copy: who cancels has changed nothing.
    this.draft = JSON.parse(JSON.stringify(taxonomy));
    this.saved = saved;
    this.status = h("span", { class: "muted", role: "status" });
    this.labels = h("ol", { class: "taxonomy-rows" });
    this.questions = h("ol", { class: "taxonomy-rows" });
    this.node = h(
      "form",
      { class: "taxonomy-form", onsubmit: (event) => this.save(event) },
      h("h3", {}, "Labels"),
      h("p", { class: "muted small" }, "Reviews keep the name of a label that you remove."),
      this.labels,
      h("p", {}, h("button", { type: "button", class: "button", onclick: () => this.add(this.draft.labels, { id: "", title: "", blame: null, description: "" }, this.labels) }, "Add a label")),
      h("h3", {}, "Questions of the form"),
      this.questions,
      h("p", {}, h("button", { type: "button", class: "button", onclick: () => this.add(this.draft.questions, { id: "", text: "" }, this.questions) }, "Add a question")),
      h("p", { class: "actions" }, h("button", { type: "submit", class: "button primary" }, "Save"), h("button", { type: "button", class: "button quiet", onclick: cancelled }, "Cancel"), this.status),
    );
    this.draw();
  }

  draw() {
    const { labels, questions } = this.draft;
    replace(this.labels, labels.map((label, index) => this.row(labels, index, this.labels, [this.input(label, "title", `Title of label ${index + 1}`, 100), this.blame(label, index), this.input(label, "description", `Description of label ${index + 1}`, 300)])));
    replace(this.questions, questions.map((question, index) => this.row(questions, index, this.questions, [this.input(question, "text", `Question ${index + 1}`, 300)])));
  }

  row(items, index, list, fields) {
    const name = `${list === this.labels ? "label" : "question"} ${index + 1}`;
    const tool = (sign, what, work, disabled = false) => h("button", { type: "button", class: "button quiet", "aria-label": `${what} ${name}`, title: what, disabled, onclick: work }, sign);
    const move = (by) => {
      items.splice(index + by, 0, ...items.splice(index, 1));
      this.draw();
      list.children[index + by].querySelector("input").focus();
    };
    const remove = () => {
      items.splice(index, 1);
      this.draw();
      (list.children[Math.min(index, items.length - 1)] ?? list.parentNode).querySelector("input")?.focus();
    };
    return h(
      "li",
      {},
      list === this.labels ? h("kbd", { "aria-hidden": "true" }, index < 9 ? index + 1 : "–") : null,
      h("div", { class: "taxonomy-fields" }, fields),
      h("div", { class: "taxonomy-tools" }, tool("↑", "Move up", () => move(-1), index === 0), tool("↓", "Move down", () => move(1), index === items.length - 1), tool("✕", "Remove", remove)),
    );
  }

  input(item, field, label, longest) {
    return h("input", { type: "text", class: `taxonomy-${field}`, value: item[field], maxlength: String(longest), required: field !== "description", placeholder: field, "aria-label": label, oninput: (event) => (item[field] = event.target.value) });
  }

  blame(label, index) {
    return h("select", { "aria-label": `Blame of label ${index + 1}`, onchange: (event) => (label.blame = event.target.value || null) }, LABEL_BLAMES.map((value) => h("option", { value, selected: (label.blame ?? "") === value }, value || "no blame")));
  }

  add(items, item, list) {
    items.push(item);
    this.draw();
    list.lastElementChild.querySelector("input").focus();
  }

  async save(event) {
    event.preventDefault();
    for (const [items, field] of [[this.draft.labels, "title"], [this.draft.questions, "text"]]) nameNew(items, field);
    this.status.textContent = "saving …";
    try {
      this.saved(await (await sendJson("taxonomy", this.draft, "PUT")).json());
    } catch (error) {
      this.status.textContent = `not saved: ${error.message}`;
    }
  }
}

// Names stand in reviews, so that an entry keeps the one that it has; a new one is called by its words.
function nameNew(items, field) {
  const taken = new Set(items.map((item) => item.id));
  for (const item of items) {
    if (item.id) continue;
    const words = item[field].toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "").replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 50) || "entry";
    let name = words;
    for (let number = 2; taken.has(name); number++) name = `${words}-${number}`;
    taken.add(name);
    item.id = name;
  }
}
