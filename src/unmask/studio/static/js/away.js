// What somebody sees who looks elsewhere: progress in the tab's title, and a notification at the end.

import { notice, select } from "./dom.js";
import { prefer, preferred } from "./store.js";

const shares = new Map(); // how far whoever works has come
let view = "";

/** The view that is shown. */
export function entitle(name) {
  view = name;
  show();
}

/** How far somebody has come, as a share; null: not at work. */
export function progress(who, share) {
  if (share === null) shares.delete(who);
  else shares.set(who, share);
  show();
}

function show() {
  const [share] = shares.values();
  const done = share === undefined ? "" : `${Math.floor(100 * share)} % · `;
  document.title = `${done}${view} · Unmask Studio`;
}

const allowed = () => preferred("notify") && globalThis.Notification?.permission === "granted";

/** Say that something is done, to those who want to know and do not see it. */
export function announce(words) {
  if (document.hidden && allowed())
    new Notification("Unmask Studio", { body: words, icon: "/static/icon.svg" });
}

/** The button that turns notifications on and off. */
export function offerNotifications() {
  const bell = select("#notify");
  const label = () => {
    bell.setAttribute("aria-pressed", String(Boolean(allowed())));
    bell.title = `Notify when done: ${allowed() ? "on" : "off"}`;
  };
  bell.hidden = !("Notification" in globalThis);
  bell.addEventListener("click", async () => {
    const on = !allowed();
    if (on && (await Notification.requestPermission()) !== "granted")
      notice("This browser blocks notifications. Allow them in its settings for this site.");
    else notice(on ? "You will be notified when everything is drawn." : "Notifications are off.");
    prefer("notify", on);
    label();
  });
  label();
}
