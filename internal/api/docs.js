// The page can be read without this script. It adds the server's address to examples, search, copy buttons and the mark on the
// current section.
"use strict";

// Examples name the address that the page was read from.
const written = "https://localhost:8443";
const here = new URL(".", location.href).href.slice(0, -1);
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const text = texts.currentNode;
  if (text.data.includes(written)) text.data = text.data.replaceAll(written, here);
}

const search = document.getElementById("search");
const query = document.getElementById("query");
const results = document.getElementById("results");
const found = document.getElementById("found");
const matches = document.getElementById("matches");
const contents = document.getElementById("contents");

// How a group of results is called; equally good groups come in this order.
const kinds = { Operation: "Operations", Field: "Fields", Error: "Errors", Object: "Objects", Guide: "Guide" };

// What stands on every answer would match every answer.
function searched(element) {
  const copy = element.cloneNode(true);
  copy.querySelectorAll("[data-unsearched]").forEach((part) => part.remove());
  return [element.dataset.title, element.dataset.place, copy.textContent].join(" ").toLowerCase();
}

const entries = [...document.querySelectorAll("[data-kind]")].map((element) => ({
  kind: element.dataset.kind,
  title: element.dataset.title,
  place: element.dataset.place,
  target: element.id || element.closest("[id]").id,
  text: searched(element),
}));

// rank is how well an entry fits; 0 means not at all. Every word must occur, and a hit in the title counts most.
function rank(entry, words) {
  if (!words.every((word) => entry.text.includes(word))) return 0;
  const title = entry.title.toLowerCase();
  const phrase = words.join(" ");
  if (title === phrase) return 4;
  if (title.startsWith(phrase)) return 3;
  return words.every((word) => title.includes(word)) ? 2 : 1;
}

// find is the entries that fit, best first.
function find(words) {
  return entries
    .map((entry) => ({ ...entry, rank: rank(entry, words) }))
    .filter((hit) => hit.rank > 0)
    .sort((a, b) => b.rank - a.rank);
}

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// marked is the text with the searched words marked.
function marked(text, words) {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return text
    .split(new RegExp(`(${escaped.join("|")})`, "gi"))
    .map((part, i) => (i % 2 ? element("mark", {}, part) : part));
}

function resultGroup({ kind, hits }, words) {
  const items = hits.map((hit) => {
    const className = kind === "Field" ? "title-code" : "";
    return element("li", {}, element("a", { href: "#" + hit.target },
      element("span", { className }, ...marked(hit.title, words)),
      element("span", { className: "place" }, ...marked(hit.place, words))));
  });
  return [element("h2", {}, kinds[kind]), element("ul", {}, ...items)];
}

function nothing(text) {
  const clear = element("button", { type: "button" }, "Clear the search");
  clear.addEventListener("click", clearSearch);
  return element("div", { className: "nothing" },
    element("p", {}, `Nothing here mentions “${text}”. Try a field such as emails, a status such as 422, or a word such as merge.`),
    clear);
}

function show() {
  const text = query.value.trim();
  if (text === "") {
    results.hidden = true;
    found.textContent = "";
    matches.replaceChildren();
    return;
  }
  const words = text.toLowerCase().split(/\s+/);
  const hits = find(words);
  found.textContent = hits.length === 0 ? "No matches" : hits.length === 1 ? "1 match" : `${hits.length} matches`;
  const groups = Object.keys(kinds)
    .map((kind) => ({ kind, hits: hits.filter((hit) => hit.kind === kind) }))
    .filter((group) => group.hits.length > 0)
    .sort((a, b) => b.hits[0].rank - a.hits[0].rank);
  matches.replaceChildren(...(hits.length === 0 ? [nothing(text)] : groups.flatMap((group) => resultGroup(group, words))));
  results.hidden = false;
  results.scrollTop = 0;
}

function clearSearch() {
  query.value = "";
  show();
  query.focus();
}

function move(event, step) {
  const links = [...matches.querySelectorAll("a")];
  if (results.hidden || links.length === 0) return;
  event.preventDefault();
  const next = links.indexOf(document.activeElement) + step;
  (links[next] || (next < 0 ? query : links[links.length - 1])).focus();
}

query.addEventListener("input", show);
query.addEventListener("focus", show);

search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.preventDefault();
    clearSearch();
  } else if (event.key === "ArrowDown") {
    move(event, 1);
  } else if (event.key === "ArrowUp") {
    move(event, -1);
  } else if (event.key === "Enter" && event.target === query) {
    matches.querySelector("a")?.click();
  }
});

matches.addEventListener("click", (event) => {
  if (event.target.closest("a")) results.hidden = true;
});

document.addEventListener("click", (event) => {
  if (!search.contains(event.target)) results.hidden = true;
});

document.addEventListener("focusin", (event) => {
  if (!search.contains(event.target)) results.hidden = true;
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  query.focus();
  query.select();
});

search.hidden = false;

// A link to an answer opens it.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

addEventListener("hashchange", openTarget);
openTarget();

// The same link followed twice changes no hash, so the click itself opens the answer as well.
document.addEventListener("click", (event) => {
  if (event.target.closest("a[href^='#']")) setTimeout(openTarget);
});

// Copy buttons.
for (const block of document.querySelectorAll(".code")) {
  const code = block.querySelector("code");
  if (code.querySelector(".faint")) continue;
  const title = block.querySelector("figcaption, summary").textContent;
  const button = element("button", { type: "button", className: "copy", ariaLabel: "Copy: " + title }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  block.append(button);
}

// The section that is being read is marked in the contents.
const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
const sections = [...document.querySelectorAll("[data-section]")].filter((section) => links.has(section.id));
let current;

function markCurrent() {
  const line = innerHeight / 4;
  const reading = sections.findLast((section) => section.getBoundingClientRect().top <= line);
  const link = reading && links.get(reading.id);
  if (link === current) return;
  current?.removeAttribute("aria-current");
  link?.setAttribute("aria-current", "location");
  current = link;
  if (link && getComputedStyle(contents).position === "sticky") keepInView(link);
}

// The contents follow the reader only when the mark would leave them. scrollIntoView would move the page as well.
function keepInView(link) {
  const box = contents.getBoundingClientRect();
  const line = link.getBoundingClientRect();
  if (line.top < box.top + 40 || line.bottom > box.bottom - 40) {
    contents.scrollTop += line.top - box.top - contents.clientHeight / 2;
  }
}

let waiting = false;
addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    markCurrent();
  });
}, { passive: true });
markCurrent();

contents.addEventListener("click", (event) => {
  if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
});
