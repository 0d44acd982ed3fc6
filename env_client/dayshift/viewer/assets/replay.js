// The tools under a step: serve it again, copy it, and open an episode at its state.
import { announce, h, replace } from "./dom.js";
import { getJson, sendJson } from "./api.js";
import { bytes, visible } from "./format.js";

export function replayTools(container, { key, step, head }) {
  const path = `episodes/${encodeURIComponent(key)}`;
  const result = h("div", { class: "replay-result", "aria-live": "polite" });
  const attempt = (work) => async () => {
    replace(result, h("p", { class: "muted" }, "…"));
    try {
      replace(result, await work());
    } catch (error) {
      replace(result, h("p", { class: "bad", role: "alert" }, error.message));
    }
  };
  const button = (label, work) => h("button", { type: "button", class: "button small", onclick: attempt(work) }, label);
  replace(
    container,
    h("div", { class: "actions" },
      button("Replay to here", async () => describe(await (await sendJson(`${path}/replay`, { step })).json())),
      button("Open at this state", async () => access(await (await sendJson(`${path}/playground`, { step })).json())),
      head.product ? button("Copy as curl", () => copy(`${path}/steps/${step}/snippet`, "curl")) : null,
      head.product ? button("Copy for the SDK", () => copy(`${path}/steps/${step}/snippet`, "sdk")) : null,
    ),
    result,
  );
}

function describe(outcome) {
  if (outcome.identical) return h("p", { class: "ok" }, `✓ identical to step ${outcome.step}, ${bytes(outcome.compared_bytes)}`);
  const { step, what, recorded, replayed } = outcome.difference;
  return h("div", {},
    h("p", { class: "bad" }, `✗ ${what} of step ${step} differs`),
    h("dl", {}, h("dt", {}, "recorded"), h("dd", { class: "mono" }, visible(recorded)), h("dt", {}, "replayed"), h("dd", { class: "mono" }, visible(replayed))),
  );
}

function access(opened) {
  return h("div", {},
    h("p", {}, `Episode ${opened.episode_id} is open in this state. `, h("a", { href: "#/live" }, "Take it over on the live page"), ", or call the products:"),
    h("ul", {}, Object.entries(opened.products).map(([name, { base_url, credential }]) => h("li", { class: "mono" }, `${name}: ${base_url} · ${credential}`))),
  );
}

async function copy(path, form) {
  const { text } = await getJson(path, { form });
  const done = navigator.clipboard ? await navigator.clipboard.writeText(text).then(() => true, () => false) : false;
  announce(done ? "copied" : "not copied: select the text");
  return h("pre", { class: "mono prewrap", tabindex: "0" }, visible(text));
}
