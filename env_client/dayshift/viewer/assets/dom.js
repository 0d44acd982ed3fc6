// Builds elements. Text always goes through text nodes, so that nothing recorded can become markup.

export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  apply(node, props || {});
  append(node, children);
  return node;
}

export function svg(tag, props, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  append(node, children);
  return node;
}

function apply(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "href") node.setAttribute("href", safeLink(String(value)));
    else if (name === "style") for (const [key, part] of Object.entries(value)) node.style.setProperty(key, part);
    else if (name in node && typeof value !== "string") node[name] = value;
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
}

// Links lead inside the page alone, or to its own API.
function safeLink(target) {
  return target.startsWith("#") || target.startsWith("api/") || target.startsWith("blob:") ? target : "#/";
}

export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function replace(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

// As `replace`, for parts that are drawn again while somebody uses them: what has the same `data-key` keeps the focus.
export function redraw(node, ...children) {
  const focused = node.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  replace(node, ...children);
  if (focused) node.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  return node;
}

export function announce(text) {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

export function debounce(work, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}

// A list of which only the visible rows exist. `draw(index)` returns the row's element.
export function virtualList({ label, rowHeight, count, draw, className, role = "list" }) {
  const spacer = h("div", { class: "spacer", role: "presentation" });
  const box = h("div", { class: `virtual ${className || ""}`, tabindex: "0", role, "aria-label": label }, spacer);
  const rows = new Map();
  let total = count;
  const paint = () => {
    spacer.style.height = `${total * rowHeight}px`;
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - 8);
    const last = Math.min(total, Math.ceil((box.scrollTop + box.clientHeight) / rowHeight) + 8);
    for (const [index, row] of rows) {
      if (index < first || index >= last) {
        row.remove();
        rows.delete(index);
      }
    }
    for (let index = first; index < last; index++) {
      if (!rows.has(index)) place(index);
    }
  };
  const place = (index) => {
    const row = draw(index);
    row.style.top = `${index * rowHeight}px`;
    row.style.height = `${rowHeight}px`;
    rows.set(index, row);
    spacer.append(row);
  };
  box.addEventListener("scroll", paint, { passive: true });
  new ResizeObserver(paint).observe(box);
  return {
    box,
    rowHeight,
    resize(next) {
      total = next;
      this.redraw();
    },
    redraw() {
      for (const row of rows.values()) row.remove();
      rows.clear();
      paint();
    },
    redrawRow(index) {
      if (!rows.has(index)) return;
      rows.get(index).remove();
      place(index);
    },
    reveal(index) {
      const top = index * rowHeight;
      if (top < box.scrollTop) box.scrollTop = top - rowHeight;
      else if (top + rowHeight > box.scrollTop + box.clientHeight) {
        box.scrollTop = top - box.clientHeight + 2 * rowHeight;
      }
      paint();
    },
  };
}

export function details(summary, content, open = false) {
  const node = h("details", { open }, h("summary", {}, summary));
  let filled = false;
  const fill = () => {
    if (!filled && node.open) {
      filled = true;
      append(node, [typeof content === "function" ? content() : content]);
    }
  };
  node.addEventListener("toggle", fill);
  fill();
  return node;
}
