// The form of a gift: the total beside the button, and a puzzle that costs those who send many forms their time. Without this script the form works too; when many people send it, by way of a link in an email.
"use strict";

const form = document.querySelector("[data-donate]");
if (form) {
  const total = form.querySelector("[data-total]"), words = form.querySelector("[data-give] span"), first = words.textContent;
  const settings = form.dataset, scale = 10 ** settings.decimals, step = Number(settings.step);

  // An amount as people write it, in the smallest unit; 0 for none. The server reads it more strictly.
  const read = (text) => {
    const [, whole, decimals] = text.replace(/[^0-9.,]/g, "").match(/^(.*?)(?:[.,](\d{1,2}))?$/) ?? [];
    return Math.round(Number((whole ?? "").replace(/[.,]/g, "") + "." + (decimals ?? "0")) * scale) || 0;
  };
  const show = (units) => {
    const decimals = Number(settings.decimals);
    return settings.money.replace("#", (units / scale).toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
  };
  const value = (name) => new FormData(form).get(name);

  const tell = () => {
    const often = value("frequency"), every = often === "monthly" ? " every month" : "";
    const chosen = form.querySelector(`input[name="${often}"]:checked`);
    const gift = chosen?.dataset.units ? Number(chosen.dataset.units) : read(value("other_amount") ?? "");
    const online = (value("way") ?? "online") === "online";
    let paid = gift;
    if (settings.points && online && value("cover")) {
      paid = Math.ceil((gift + Number(settings.fixed)) * 10000 / (10000 - settings.points) / step) * step;
    }
    words.textContent = gift ? `Give ${show(paid)}${every}` : first;
    total.textContent = !gift ? "Choose an amount." : paid > gift ? `${show(gift)} gift and ${show(paid - gift)} for the fee.` : "";
  };
  form.addEventListener("input", tell);
  form.addEventListener("change", (event) => {
    const online = form.querySelector('input[name="way"][value="online"]');
    if (event.target.value === "monthly" && online) online.checked = true; // a provider alone can repeat a gift
    tell();
  });
  form.addEventListener("click", (event) => { // by the mouse or a finger; the arrow keys only look around
    if (event.detail && event.target.value === "other") form.elements.other_amount.focus();
  });
  addEventListener("pageshow", tell); // also after a step back

  const bytes = (text) => new TextEncoder().encode(text);
  const solve = async (puzzle) => {
    const salt = bytes(value("donation"));
    for (let i = 0; ; i++) {
      const key = await crypto.subtle.importKey("raw", bytes(`${puzzle}.${i}`), "PBKDF2", false, ["deriveBits"]);
      const found = new DataView(await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-256", salt, iterations: Number(settings.rounds) }, key, 32));
      if (Math.clz32(found.getUint32(0)) >= settings.zeros) return String(i);
    }
  };
  let solved;
  const begin = () => { solved ??= solve(value("puzzle")).then((solution) => { form.elements.solution.value = solution; }); };
  if (crypto.subtle) {
    form.addEventListener("input", begin, { once: true });
    form.addEventListener("submit", async (event) => {
      if (form.elements.solution.value) return;
      event.preventDefault();
      begin();
      total.textContent = "One moment …";
      await solved;
      form.submit();
    });
    if (settings.harder) form.requestSubmit();
  }
}
