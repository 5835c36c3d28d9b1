// What a tab remembers of itself, so that a reload loses nothing. Tabs do not see each other's.

export const recall = (key) => {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
};

export const remember = (key, value) => {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    sessionStorage.removeItem(key); // too large to be kept: then a reload loses it
  }
};
