// Before the page is painted, so that it does not flash: the theme that was chosen, if one was.
document.documentElement.dataset.theme = "auto";
try {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "auto";
} catch {
  // The browser keeps nothing for the page.
}
