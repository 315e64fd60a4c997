// What makes pages feel alive. Every page works without it.
"use strict";

// A page is read on from what has just happened: complaints, a field that is wrong, the field that the address names, or what
// was done.
const target = document.getElementById(location.hash.slice(1));
(document.querySelector(".alert[data-focus], [aria-invalid]") ?? (target?.matches("input") ? target : document.querySelector("[data-focus]")))?.focus();

// On a wide screen the navigation is always open; on a narrow one it is folded until it is asked for.
const wide = matchMedia("(min-width: 60rem)");
const fold = () => document.querySelectorAll("details[data-menu]").forEach((menu) => { menu.open = wide.matches; });
wide.addEventListener("change", fold);
fold();

// Only one list of organizations is open, and a click elsewhere or Escape closes it.
document.addEventListener("click", (event) => {
  document.querySelectorAll("details.orgs[open], details.popup[open]").forEach((open) => {
    if (!open.contains(event.target)) open.open = false;
  });
  if (event.target.matches("details.drawer[open]")) event.target.open = false; // what is around the drawer belongs to it
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  document.querySelectorAll("details.orgs[open], details.popup[open], details.panel[open], details.drawer[open]").forEach((open) => {
    open.open = false;
    open.querySelector("summary").focus();
  });
});

// A drawer that opens is for what it asks first, unless it has something to complain about.
document.addEventListener("toggle", ({ target: open }) => {
  if (open.matches("details.drawer[open]") && !open.querySelector(".alert")) open.querySelector("[data-first]")?.focus();
}, true);

// <input data-suggest="ADDRESS"> offers what is found while a person types, as a list that the keyboard moves through (a combobox, as WAI-ARIA has it). With data-pick="#id"
// a contact is chosen for that hidden field; otherwise a page is opened. Only the last question is waited for.
document.querySelectorAll("input[data-suggest]").forEach((input) => {
  const list = document.createElement("ul"), told = document.createElement("span");
  list.id = input.id + "-suggestions";
  list.className = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  told.className = "visually-hidden";
  told.setAttribute("role", "status");
  document.body.append(list, told); // where no part of the page cuts it off
  const attributes = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id };
  Object.entries(attributes).forEach(([name, value]) => input.setAttribute(name, value));
  const picked = document.querySelector(input.dataset.pick ?? "none");
  let asked, wait, at = -1;
  const point = (to) => {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = to;
    const option = list.children[at];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  };
  const close = () => {
    clearTimeout(wait);
    asked?.abort();
    point(-1);
    list.hidden = true;
    told.textContent = "";
    input.setAttribute("aria-expanded", "false");
  };
  const place = () => {
    const box = input.getBoundingClientRect();
    const width = Math.min(Math.max(box.width, 320), innerWidth - 16);
    const style = { width: width + "px", left: Math.max(8, Math.min(box.left, innerWidth - width - 8)) + "px", top: box.bottom + 4 + "px" };
    Object.assign(list.style, style, { maxHeight: Math.max(120, innerHeight - box.bottom - 16) + "px" });
  };
  const take = (option) => {
    if (!picked) return location.assign(option.dataset.href);
    [picked.value, input.value] = [option.dataset.id, option.dataset.name];
    close();
    input.form.querySelector("[data-first]")?.focus(); // who gave is said: what follows is how much
  };
  const ask = async () => {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked, typed = input.value.trim();
    if (typed.length < 2) return close();
    const address = new URL(input.dataset.suggest, location);
    address.searchParams.set("q", typed);
    const answer = await fetch(address, { signal, headers: { "HX-Request": "true", "HX-Target": "suggestions" } }).catch(() => null);
    const found = answer?.ok && !answer.redirected ? await answer.text().catch(() => "") : "";
    if (signal.aborted || document.activeElement !== input) return;
    list.innerHTML = found;
    [...list.children].forEach((option, i) => { option.id = list.id + "-" + i; option.setAttribute("aria-selected", "false"); });
    const n = list.children.length;
    point(-1);
    place();
    list.hidden = !n;
    input.setAttribute("aria-expanded", String(n > 0));
    told.textContent = n ? n + (n > 1 ? " suggestions" : " suggestion") : "No suggestions";
  };
  input.addEventListener("input", () => {
    if (picked) picked.value = "";
    clearTimeout(wait);
    wait = setTimeout(ask, 150);
  });
  input.addEventListener("keydown", (event) => {
    const n = list.children.length, step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && list.hidden) { if (!event.altKey) ask(); event.preventDefault(); return; }
    if (list.hidden || event.isComposing) return;
    if (step) point(at + step < -1 ? n - 1 : at + step < n ? at + step : -1); // -1 is what was typed
    else if (event.key === "Enter" && at >= 0) take(list.children[at]);
    else if (event.key === "Escape") close();
    else { if (event.key === "Tab" || event.key === "Enter") close(); return; }
    event.preventDefault(); // of the page and of the browser
  });
  input.addEventListener("blur", close);
  for (const moved of ["resize", "scroll"]) addEventListener(moved, () => { if (!list.hidden) place(); }, true);
  list.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the field
  list.addEventListener("click", (event) => { const option = event.target.closest("[role=option]"); if (option) take(option); });
});

// A form is sent once, however often its button is pressed. A page that the browser brings back may send it again. What a
// script takes over, and what the browser refuses, is not sent.
let sent = new WeakSet();
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.getAttribute("method") !== "post") return; // a field may be called method
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});
addEventListener("pageshow", () => { sent = new WeakSet(); });

// <form data-guard> asks before a person leaves it with changes, unless by sending it. With data-unsaved it holds what was sent
// before and is not saved. What a form held at first is known by its defaults: the browser may have filled it in anew since.
const held = (form, atFirst) => [...form.elements].map((field) => {
  if (!field.name || !field.matches("input:not([type=hidden]), select, textarea")) return "";
  let value = atFirst ? field.defaultValue : field.value;
  if (field.matches("[type=checkbox]")) value = field[atFirst ? "defaultChecked" : "checked"] ? field.value : "";
  if (field.matches("select")) value = atFirst ? (field.querySelector("option[selected]") ?? field.options[0]).value : field.value;
  return value && field.name + "=" + value;
}).filter(Boolean).join("\n");
const guarded = [...document.querySelectorAll("form[data-guard]")].map((form) => [form, held(form, true)]);
addEventListener("beforeunload", (event) => {
  const lost = ([form, atFirst]) => !sent.has(form) && ("unsaved" in form.dataset || held(form) !== atFirst);
  if (guarded.some(lost)) event.preventDefault();
});

// <button data-copy="#id"> copies the text of an element, and says so.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
  const words = button.textContent;
  button.textContent = "Copied";
  button.setAttribute("aria-live", "polite");
  setTimeout(() => { button.textContent = words; }, 2000);
});

// <button data-add="#template" data-to="#list"> adds another row to a list of a form; data-remove takes the row away. The rows
// are then counted anew, from 1 or from data-from: data-label of the list is what the first one is called, data-row what each was called before.
const renumber = (list) => [...list.querySelectorAll("[data-row]")].forEach((row, i) => {
  const old = row.dataset.row, n = i + Number(list.dataset.from ?? 1);
  const now = list.dataset.label + (n > 1 ? " " + n : "");
  row.dataset.row = now;
  row.querySelectorAll("label, legend, h3").forEach((label) => {
    const text = label.firstChild;
    if (text.data === old || text.data.startsWith(old + " ")) text.data = now + text.data.slice(old.length);
  });
  row.querySelector("[data-remove]").setAttribute("aria-label", "Remove " + now);
});
document.addEventListener("click", (event) => {
  const add = event.target.closest("[data-add]");
  if (add) {
    const list = document.querySelector(add.dataset.to);
    const next = String(Number(list.dataset.next));
    list.dataset.next = String(Number(next) + 1);
    const html = document.querySelector(add.dataset.add).innerHTML.replaceAll("NEXT", next);
    list.insertAdjacentHTML("beforeend", html);
    renumber(list);
    globalThis.htmx?.process(list.lastElementChild); // it looks for suggestions, as the others do
    list.lastElementChild.querySelector("input, select, textarea")?.focus();
    return;
  }
  const remove = event.target.closest("[data-remove]");
  if (remove) {
    const row = remove.closest("[data-row]");
    const list = row.parentElement;
    row.remove();
    renumber(list);
    (list.querySelector("input") ?? list.nextElementSibling)?.focus();
  }
});

// <select data-opens="event=#id"> unfolds a part of the form that belongs to a choice.
document.addEventListener("change", (event) => {
  const [choice, part] = event.target.dataset?.opens?.split("=") ?? [];
  if (choice && event.target.value === choice) document.querySelector(part).open = true;
});

// <div data-tools="#id"> has buttons that format the chosen words of a text. What they insert can be undone.
const lineMarks = { heading: "# ", list: "- ", quote: "> " };
const wordMarks = { bold: ["**", "**", "bold"], italic: ["*", "*", "italic"], link: ["[", "](https://)", "link"] };
document.querySelectorAll("[data-tools]").forEach((tools) => { tools.hidden = false; });
document.querySelectorAll("[data-without-script]").forEach((button) => { button.hidden = true; });
document.addEventListener("click", (event) => {
  const format = event.target.closest("[data-format]")?.dataset.format;
  if (!format) return;
  const area = document.querySelector(event.target.closest("[data-tools]").dataset.tools);
  let { selectionStart: from, selectionEnd: to, value } = area;
  let text = value.slice(from, to);
  if (format in lineMarks) { // whole lines
    from = value.lastIndexOf("\n", from - 1) + 1;
    text = value.slice(from, to).replace(/^/gm, lineMarks[format]);
    if (from && value[from - 2] !== "\n") text = "\n" + text;
  } else {
    const [before, after, words] = wordMarks[format];
    text = before + (text || words) + after;
  }
  area.focus();
  area.setSelectionRange(from, to);
  if (!document.execCommand("insertText", false, text)) area.setRangeText(text, from, to, "end");
  if (format === "link") area.setSelectionRange(from + text.length - 9, from + text.length - 1); // the address
  area.dispatchEvent(new Event("input", { bubbles: true }));
});

// <input data-timezone> gets the time zone of the browser.
for (const input of document.querySelectorAll("[data-timezone]")) input.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

// <button data-print> prints the page.
document.addEventListener("click", (event) => { if (event.target.closest("[data-print]")) print(); });

// <input type="file" data-limit="BYTES" data-limit-says="WHY"> refuses a larger file before it is sent.
document.addEventListener("change", (event) => {
  const limit = Number(event.target.dataset?.limit);
  if (!limit) return;
  const large = [...event.target.files].some((file) => file.size > limit);
  event.target.setCustomValidity(large ? event.target.dataset.limitSays : "");
});

// <form data-bulk> does something to the contacts that are ticked in the list. A box in the head ticks the page, and one in the form stands for
// all pages. How many are ticked is told.
const bulk = () => document.querySelector("form[data-bulk]");
const picks = () => [...bulk().elements].filter((box) => box.name === "id");
const countPicks = () => {
  if (!bulk()) return;
  const page = document.querySelector("[data-pick-page]");
  const all = bulk().elements.all?.checked;
  const n = picks().filter((box) => box.checked).length;
  page.hidden = false;
  page.checked = n > 0 && n === picks().length;
  page.indeterminate = n > 0 && !page.checked;
  const told = all ? "All selected" : n ? n + " selected" : "";
  document.querySelectorAll("[data-bulk-count]").forEach((place) => { place.textContent = told; });
};
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!bulk() || !box.matches("[data-pick-page], [form=bulk], [data-bulk] [type=checkbox]")) return;
  const all = bulk().elements.all;
  if (box === all || box.matches("[data-pick-page]")) picks().forEach((pick) => { pick.checked = box.checked; });
  if (all && !box.checked) all.checked = false;
  countPicks();
});
addEventListener("pageshow", countPicks);
document.addEventListener("htmx:afterSettle", countPicks);

// Keys do something where no one is typing: one alone, or a letter after g or n, as the list of shortcuts tells. A person can turn them off.
const shortcuts = document.getElementById("shortcuts");
const search = document.getElementById("jump");
const isOn = () => localStorage.getItem("shortcuts") !== "off";
document.querySelectorAll("[data-shortcuts]").forEach((button) => button.addEventListener("click", () => shortcuts.showModal()));
document.querySelectorAll("[data-shortcuts-on]").forEach((box) => {
  box.checked = isOn();
  box.addEventListener("change", () => localStorage.setItem("shortcuts", box.checked ? "on" : "off"));
});
const moveRow = (step) => {
  const rows = [...document.querySelectorAll("main :is(.table a.main, .found-list a)")];
  const at = rows.findIndex((link) => link.closest("tr, li").contains(document.activeElement));
  rows[at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1)]?.focus();
};
const keys = {
  "?": () => shortcuts.showModal(),
  "/": () => { if (search?.checkVisibility()) search.select(); else if (search) location.assign(search.form.action); },
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => document.activeElement.closest("tr")?.querySelector(".pick input")?.click(),
};
let begun = "", forget; // the first of two keys, for a moment
document.addEventListener("keydown", (event) => {
  if (!shortcuts || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.key.length !== 1) return;
  if (!isOn() || event.target.closest?.("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])") || document.querySelector("dialog[open]")) return;
  const link = begun && shortcuts.querySelector(`[data-keys="${CSS.escape(begun + " " + event.key)}"]`);
  const here = link && document.getElementById(link.dataset.here); // what the page has already
  const act = here ? () => { here.open = true; } : link ? () => location.assign(link.href) : keys[event.key];
  begun = !link && "gn".includes(event.key) ? event.key : "";
  clearTimeout(forget);
  forget = setTimeout(() => { begun = ""; }, 1500);
  if (!act) return;
  event.preventDefault();
  act();
});
