// The review form of one episode: labels, blame, questions, a note. Every change is saved at once.
import { announce, h, redraw, replace } from "./dom.js";
import { clockTime, visible } from "./format.js";
import { getReviews, isShared, sendJson } from "./api.js";

const BLAMES = ["harness", "model", "either"];
const ANSWERS = ["yes", "no", "unsure"];

export async function createReview(box, key, context, stepOf) {
  const reviewer = context.session.reviewer;
  // What was typed on the page before may be about this episode: it is on its way.
  await context.lastSave;
  const { taxonomy, reviews } = await getReviews(key);
  const own = reviews.find((review) => review.reviewer === reviewer);
  const others = reviews.filter((review) => review.reviewer !== reviewer);
  const state = { labels: [], note: "", blame: null, answers: {}, ...own };
  let isSaved = own !== undefined;
  const status = h("span", { class: "muted small", role: "status" });

  const send = async () => {
    status.textContent = "saving …";
    try {
      const body = { key, labels: state.labels, note: state.note, blame: state.blame, answers: state.answers, step: stepOf() };
      await sendJson("reviews", body);
      isSaved = true;
      status.textContent = `saved as ${reviewer}`;
      draw();
    } catch (error) {
      status.textContent = `not saved: ${error.message}`;
    }
  };
  // One request at a time: two at once may arrive in the other order, and the older one would stand.
  let running = null;
  let isOutdated = false;
  const sendAll = async () => {
    do {
      isOutdated = false;
      await send();
    } while (isOutdated);
    running = null;
  };
  const save = () => {
    clearTimeout(timer);
    timer = 0;
    if (running) isOutdated = true;
    else context.lastSave = running = sendAll();
    return running;
  };
  let timer = 0;
  const flush = () => (timer ? save() : running);
  const toggleLabel = (id) => {
    state.labels = state.labels.includes(id) ? state.labels.filter((other) => other !== id) : [...state.labels, id];
    const label = taxonomy.labels.find((one) => one.id === id);
    if (state.labels.includes(id) && state.blame === null && label && label.blame) state.blame = label.blame;
    announce(`${label ? label.title : id}: ${state.labels.includes(id) ? "set" : "cleared"}`);
    draw();
    return save();
  };
  const note = h("textarea", {
    id: "note",
    rows: "3",
    value: state.note,
    oninput: (event) => {
      state.note = event.target.value;
      clearTimeout(timer);
      timer = setTimeout(save, 500);
    },
    onblur: flush,
  });
  const form = h("div", { class: "review-form" });

  function draw() {
    redraw(
      form,
      h("div", { class: "labels", role: "group", "aria-label": "Labels" }, taxonomy.labels.map((label, index) => labelButton(label, index, state, toggleLabel))),
      choiceGroup("Who is to blame?", BLAMES, state.blame, (value) => {
        state.blame = state.blame === value ? null : value;
        draw();
        save();
      }),
      state.blame === "harness" ? h("p", { class: "note" }, "Blamed on the harness: exports leave this episode out.") : null,
      h(
        "details",
        { open: Object.keys(state.answers).length > 0 || context.questionsOpen, ontoggle: (event) => (context.questionsOpen = event.target.open) },
        h("summary", { "data-key": "questions" }, `Questions (${Object.keys(state.answers).length} of ${taxonomy.questions.length} answered)`),
        taxonomy.questions.map((question) =>
          choiceGroup(question.text, ANSWERS, state.answers[question.id], (value) => {
            if (state.answers[question.id] === value) delete state.answers[question.id];
            else state.answers[question.id] = value;
            draw();
            save();
          }),
        ),
      ),
    );
    replace(others_, isSaved || isShared ? others.map(otherReview) : others.length ? h("p", { class: "muted" }, `${others.length} other review(s) are shown after yours, so that you judge by yourself.`) : null);
  }

  const others_ = h("div", { class: "other-reviews" });
  draw();
  if (isShared) {
    replace(box, h("h2", {}, "Reviews"), reviews.length ? reviews.map(otherReview) : h("p", { class: "muted" }, "None."));
    return { label: () => {}, focusNote: () => {}, close: () => {} };
  }
  window.addEventListener("pagehide", flush);
  replace(box, h("h2", {}, "Review ", status), form, h("label", { class: "block", for: "note" }, h("span", {}, "Note "), h("kbd", {}, "n")), note, others_);
  return {
    label(number) {
      const label = taxonomy.labels[number - 1];
      return label ? toggleLabel(label.id) : undefined;
    },
    focusNote() {
      note.focus();
    },
    close() {
      window.removeEventListener("pagehide", flush);
      flush();
    },
  };
}

function labelButton(label, index, state, toggle) {
  return h(
    "button",
    { type: "button", class: "label-button", "data-key": `label-${label.id}`, "aria-pressed": String(state.labels.includes(label.id)), title: label.description, onclick: () => toggle(label.id) },
    index < 9 ? h("kbd", {}, index + 1) : h("span", { class: "no-key" }),
    h("span", {}, visible(label.title)),
  );
}

function choiceGroup(title, values, chosen, choose) {
  return h(
    "div",
    { class: "choices", role: "group", "aria-label": title },
    h("span", { class: "choice-title" }, visible(title)),
    values.map((value) => h("button", { type: "button", class: "choice", "data-key": `${title}-${value}`, "aria-pressed": String(chosen === value), onclick: () => choose(value) }, value)),
  );
}

function otherReview(review) {
  return h(
    "article",
    { class: "card" },
    h("h3", {}, visible(review.reviewer), h("span", { class: "muted small" }, ` ${clockTime(review.at)}`)),
    h("p", { class: "chips" }, review.blame ? h("span", { class: "chip strong" }, review.blame) : null, review.labels.map((label) => h("span", { class: "chip" }, label))),
    review.note ? h("p", { class: "prewrap" }, visible(review.note)) : null,
  );
}
