// Passing on the address of a public page. The page has a mail link for browsers without it.
"use strict";

for (const button of document.querySelectorAll("[data-copy-link]")) {
  button.hidden = !navigator.clipboard;
  const words = button.lastChild;
  const before = words.data;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copyLink);
    words.data = "Copied";
    button.setAttribute("aria-live", "polite");
    setTimeout(() => { words.data = before; }, 2000);
  });
}
for (const button of document.querySelectorAll("[data-share]")) {
  button.hidden = !navigator.share || !matchMedia("(pointer: coarse)").matches;
  button.addEventListener("click", () => navigator.share({ title: document.title, url: button.dataset.share }).catch(() => {}));
}
