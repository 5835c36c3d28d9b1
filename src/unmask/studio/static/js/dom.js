// Elements in few words.

const SVG = "http://www.w3.org/2000/svg";

/**
 * A new element, such as `el("p.hint", { id }, "words")`: a tag and its classes; properties, if there are any (data-*
 * and aria-* as attributes, --* as style, on* as listeners); children.
 */
export function el(kind, ...content) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  const properties = content[0]?.constructor === Object ? content.shift() : {};
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...content.flat().filter((child) => child != null && child !== false));
  return element;
}

/** A new element of a drawing, whose properties are all attributes. */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const icon = (name) =>
  svg("svg", { "aria-hidden": "true" }, svg("use", { href: `/static/icons.svg#${name}` }));

/** A button with words and a symbol; a bare one has its words only for those who ask, or cannot see it. */
export function button(label, { kind = "plain", symbol, bare = false, ...properties } = {}) {
  const named = bare && { "aria-label": label, title: label };
  const content = [symbol && icon(symbol), bare ? null : label];
  return el("button", { type: "button", className: kind, ...named, ...properties }, content);
}

/** A button among others of its kind. */
export const quiet = (label, symbol, onclick, properties) =>
  button(label, { kind: "quiet", symbol, onclick, ...properties });

/** The same, bare. */
export const tool = (label, symbol, onclick, properties) =>
  quiet(label, symbol, onclick, { bare: true, ...properties });

export const select = (selector, root = document) => root.querySelector(selector);

/** What stands where nothing is yet: a title and what to do, below a picture if there is one. */
export const invitation = (title, words, picture = null) =>
  el("div.empty", picture, el("h2", title), el("p", words));

const notices = select("#notices");

/** A sentence that passes by once it could be read; errors stay until they are dismissed. */
export function notice(sentence, { lasting = false, action } = {}) {
  const box = el("div.notice", el("span", sentence));
  if (action) {
    const [words, act] = action;
    box.append(button(words, { kind: "quiet act", onclick: () => (box.remove(), act()) }));
  }
  box.append(tool("Dismiss", "close", () => box.remove()));
  for (const old of [...notices.children].slice(0, -2)) old.remove();
  notices.append(box);
  lift();
  if (!lasting) setTimeout(() => box.remove(), Math.max(4000, 80 * sentence.length));
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
    notice(`This browser does not allow copying; select it here instead. ${what}: ${text}`, {
      lasting: true,
    });
  }
}

/** Open the dialog of an id, with a title and a way out; a click beside it closes it. */
export function show(id, title, ...content) {
  const dialog = select(`#${id}`);
  const close = tool("Close", "close", () => dialog.close(), { kind: "quiet round" });
  const head = el("div.head", el("h2", { id: `${id}-title` }, title), close);
  dialog.replaceChildren(head, el("div.body", content));
  dialog.onclick = (event) => {
    if (event.target === dialog) dialog.close(); // a handler that returned false would stop links
  };
  dialog.onclose = lift;
  if (!dialog.open) dialog.showModal();
  lift();
}
