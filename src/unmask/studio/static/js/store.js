// What a tab remembers of itself, so that a reload loses nothing. Tabs do not see each other's.

/** What an action gives, or null where the browser keeps nothing, or no more, for the page. */
const allowed = (action) => {
  try {
    return action();
  } catch {
    return null;
  }
};

export const recall = (key) => allowed(() => JSON.parse(sessionStorage.getItem(key)));

export const remember = (key, value) => {
  allowed(() => sessionStorage.removeItem(key)); // what is too large to be kept leaves nothing of before
  allowed(() => sessionStorage.setItem(key, JSON.stringify(value)));
};

export const rememberTheme = (theme) => allowed(() => localStorage.setItem("theme", theme));

/** What a person likes to have, in all tabs and from now on. */
export const prefer = (key, value) => allowed(() => localStorage.setItem(key, JSON.stringify(value)));
export const preferred = (key) => allowed(() => JSON.parse(localStorage.getItem(key)));
