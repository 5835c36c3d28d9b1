// A button on every line of code, where the browser lets a page copy.
if (navigator.clipboard) {
  for (const code of document.querySelectorAll("pre > code")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + code.textContent.slice(0, 60));
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    code.after(button);
  }
}
