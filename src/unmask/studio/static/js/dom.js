// Elements in few words.

/** A new element: properties (data-*, aria-* and class as attributes, on* as listeners), then children. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `/static/icons.svg#${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

export function button(label, { kind = "plain", symbol, bare = false, ...properties } = {}) {
  const content = [symbol && icon(symbol), bare ? null : label].filter(Boolean);
  return el(
    "button",
    {
      type: "button",
      className: kind,
      "aria-label": bare ? label : undefined,
      title: bare ? label : undefined,
      ...properties,
    },
    content,
  );
}

export const select = (selector, root = document) => root.querySelector(selector);

/** What stands where nothing is yet: a title and what to do, below a picture if there is one. */
export const invitation = (title, words, picture = null) =>
  el("div", { className: "empty" }, picture, el("h2", {}, title), el("p", {}, words));

const notices = select("#notices");

/** A sentence that passes by; errors stay until they are read. */
export function notice(sentence, { lasting = false, action } = {}) {
  const box = el("div", { className: "notice" }, el("span", {}, sentence));
  if (action) {
    const [words, act] = action;
    box.append(button(words, { kind: "quiet act", onclick: () => (box.remove(), act()) }));
  }
  box.append(button("Dismiss", { kind: "quiet", symbol: "close", bare: true, onclick: () => box.remove() }));
  for (const old of [...notices.children].slice(0, -2)) old.remove();
  notices.append(box);
  lift();
  setTimeout(() => box.remove(), lasting ? 20000 : 4000);
}

/** Put notices above everything, within the dialog on top, if there is one: all else cannot be reached. */
function lift() {
  const place = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (notices.parentElement !== place) place.append(notices);
  notices.hidePopover();
  notices.showPopover();
}

/** Do something; if it fails, a notice says why. */
export async function attempt(action) {
  try {
    await action();
  } catch (error) {
    notice(error.message, { lasting: true });
  }
}

/** Copy a text; the button that was pressed says so. */
export async function copy(text, what, { currentTarget: pressed }) {
  try {
    await navigator.clipboard.writeText(text);
    const words = pressed.lastChild.textContent;
    if (words === "Copied") return;
    pressed.lastChild.textContent = "Copied";
    setTimeout(() => (pressed.lastChild.textContent = words), 2000);
  } catch {
    notice(`The browser does not let me copy. ${what}: ${text}`, { lasting: true });
  }
}

/** A dialog's head: a title and a way out. */
export function dialogHead(dialog, title, id) {
  const close = button("Close", {
    kind: "quiet round",
    symbol: "close",
    bare: true,
    onclick: () => dialog.close(),
  });
  return el("div", { className: "head" }, el("h2", { id }, title), close);
}

/** Open a dialog; a click beside it closes it. */
export function show(dialog, ...content) {
  dialog.replaceChildren(...content);
  dialog.onclick = (event) => {
    if (event.target === dialog) dialog.close(); // a handler that returned false would stop links
  };
  dialog.onclose = lift;
  if (!dialog.open) dialog.showModal();
  lift();
}
