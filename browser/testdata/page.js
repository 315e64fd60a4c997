// What the tests ask of a page. It is in every document before the page's own scripts run.
(() => {
  if (globalThis.harness) return;

  const clean = (text) => (text ?? '').replace(/\s+/g, ' ').trim();
  const read = (element) => clean(element.innerText ?? element.textContent); // pictures have no innerText
  const isVisible = (element) =>
    element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) && element.getClientRects().length > 0;

  // A document that is being left must not be mistaken for the one that comes.
  let leaving = false;
  navigation.addEventListener('navigate', (event) => {
    if (!event.hashChange && !event.destination.sameDocument && event.downloadRequest === null) leaving = true;
  });
  addEventListener('pageshow', () => { leaving = false; }); // the browser may keep a page whole and bring it back
  addEventListener('submit', (event) => setTimeout(() => {
    const method = event.submitter?.getAttribute('formmethod') ?? event.target.getAttribute('method');
    if (!event.defaultPrevented && method !== 'dialog') leaving = true;
  }));

  const nextTask = () => new Promise((done) => setTimeout(done, 0));
  const busy = '.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added';

  // state is empty when nothing is under way.
  async function state() {
    await nextTask();
    if (leaving) return 'the page was left, and no other came';
    if (document.readyState !== 'complete') return 'the page is still loading';
    return document.querySelector(busy) ? 'a part of the page is still loading' : '';
  }

  // atRest resolves when what moves has arrived.
  async function atRest() {
    const finite = document.getAnimations().filter((a) => a.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(finite.map((a) => a.finished));
    for (let i = 0; i < 2; i++) await new Promise((done) => requestAnimationFrame(done));
  }

  function within(scope) {
    const found = [...document.querySelectorAll(scope)].filter(isVisible);
    if (found.length !== 1) throw new Error(`${found.length} visible places are ${scope}`);
    return found[0];
  }

  // labelOf is what a label says without the value of the control in it.
  function labelOf(label) {
    const copy = label.cloneNode(true);
    for (const control of copy.querySelectorAll('input, select, textarea')) control.remove();
    return clean(copy.textContent);
  }

  function nameOf(element) {
    const by = element.getAttribute('aria-labelledby');
    if (by) return clean(by.split(/\s+/).map((id) => document.getElementById(id)?.textContent).join(' '));
    if (element.hasAttribute('aria-label')) return clean(element.getAttribute('aria-label'));
    if (element.labels?.length) return labelOf(element.labels[0]);
    if (element.matches('input[type=submit], input[type=button], input[type=reset]')) return clean(element.value);
    return read(element);
  }

  // pick returns the one element that bears the words exactly, or else begins with them.
  function pick(elements, words) {
    for (const fits of [(name) => name === words, (name) => name.startsWith(words + ' ')]) {
      const found = elements.filter((element) => fits(element.matches('label') ? labelOf(element) : nameOf(element)));
      if (found.length === 1) return found[0];
      if (found.length > 1) throw new Error(`${found.length} things are called “${words}”: say where with in(), or use a selector`);
    }
    return null;
  }

  function select(scope, selector, accept) {
    let found = [];
    try {
      found = [...scope.querySelectorAll(selector)].filter(accept);
    } catch {
      return null; // words that are no selector
    }
    if (found.length > 1) throw new Error(`${found.length} things are ${selector}`);
    return found[0] ?? null;
  }

  const pressable = `a[href], button, summary, [role=button], [role=tab], [role=menuitem], [role=option],
    input[type=submit], input[type=button], input[type=reset]`;

  function thing(scope, what) {
    const place = within(scope);
    const all = (selector) => [...place.querySelectorAll(selector)].filter(isVisible);
    const found = pick(all(pressable), what) ?? pick(all('label'), what) ?? select(place, what, isVisible);
    if (!found) throw new Error(`there is no “${what}” to click`);
    return found;
  }

  function field(scope, what) {
    const place = within(scope);
    const all = [...place.querySelectorAll('input:not([type=hidden]), select, textarea')]
      .filter((f) => isVisible(f) || f.matches('[type=radio], [type=checkbox], [type=file]'));
    const named = all.filter((f) => f.name === what);
    const found = pick(all, what) ?? (named.length === 1 ? named[0] : select(place, what, (f) => all.includes(f)));
    if (!found) throw new Error(`there is no field “${what}”`);
    return found;
  }

  // point is where a mouse would press a thing.
  function point(scope, what) {
    const found = thing(scope, what);
    if (found.disabled) throw new Error(`“${what}” is disabled`);
    found.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const box = found.getClientRects()[0];
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const top = document.elementFromPoint(x, y);
    if (!top || (!found.contains(top) && !top.contains(found))) {
      throw new Error(`“${what}” is covered by ${top?.outerHTML.slice(0, 80)}`);
    }
    return { x, y };
  }

  function announce(f) {
    f.dispatchEvent(new Event('input', { bubbles: true }));
    f.dispatchEvent(new Event('change', { bubbles: true }));
  }

  // fill focuses a field. It is true where the value must still be typed over what is selected.
  function fill(scope, what, value) {
    const f = field(scope, what);
    if (f.disabled || f.readOnly) throw new Error(`the field “${what}” cannot be changed`);
    f.focus();
    if (f.matches('select')) {
      const option = [...f.options].find((o) => clean(o.text) === value || o.value === value);
      if (!option) throw new Error(`“${what}” has no choice “${value}”`);
      option.selected = true;
      announce(f);
      return false;
    }
    if (f.matches('[type=date], [type=time], [type=datetime-local], [type=month], [type=color], [type=range]')) {
      f.value = value;
      announce(f);
      return false;
    }
    f.select();
    return true;
  }

  // check sets a box or a choice by its label or itself, as a click does.
  function check(scope, what, wanted) {
    const f = field(scope, what);
    if (f.disabled) throw new Error(`“${what}” is disabled`);
    if (f.checked !== wanted) f.click();
    if (f.checked !== wanted) throw new Error(`“${what}” does not let itself be set`);
  }

  function value(scope, what) {
    const f = field(scope, what);
    if (f.matches('[type=checkbox], [type=radio]')) return String(f.checked);
    return f.value;
  }

  const roles = { A: 'link', BUTTON: 'button', SUMMARY: 'summary', SELECT: 'select', TEXTAREA: 'field', INPUT: 'field' };

  function focused() {
    const at = document.activeElement;
    if (!at || at === document.body) return 'nothing';
    let role = at.getAttribute('role') ?? roles[at.tagName] ?? at.tagName.toLowerCase();
    if (at.matches('input')) role = { submit: 'button', button: 'button', checkbox: 'checkbox', radio: 'radio' }[at.type] ?? 'field';
    return `${role} “${nameOf(at)}”`;
  }

  const picture = /\.(png|jpe?g|webp|gif|svg|ico|woff2)($|\?)/;

  // weight is how many bytes the page took over the wire, without pictures and fonts, which it does not wait for, and without what was fetched later.
  function weight() {
    const parts = performance.getEntriesByType('resource')
      .filter((part) => ['link', 'script', 'css'].includes(part.initiatorType) && !picture.test(part.name));
    return [...performance.getEntriesByType('navigation'), ...parts].reduce((sum, part) => sum + part.encodedBodySize, 0);
  }

  // shape is what an element looks like, whatever its texts, ids and addresses are.
  const looks = ['class', 'style', 'type', 'role', 'hidden', 'disabled', 'open', 'aria-hidden', 'aria-current', 'aria-disabled'];
  function shape(element) {
    const attributes = [...element.attributes].map((a) => (looks.includes(a.name) || !a.value ? `${a.name}=${a.value}` : a.name)).sort();
    const inside = [...element.childNodes].map((node) => (node instanceof Element ? shape(node) : clean(node.nodeValue) && '.'));
    return `${element.localName}[${attributes}](${inside.join('')})`;
  }

  // repeats are the elements that look like two others before them in the same place: an audit of them finds the same again.
  function repeats(parent = document.body, found = []) {
    const seen = {};
    for (const child of parent.children) {
      const looksLike = shape(child);
      seen[looksLike] = (seen[looksLike] ?? 0) + 1;
      if (seen[looksLike] > 2 && !child.contains(document.activeElement)) found.push(child);
      else repeats(child, found);
    }
    return found;
  }

  // withoutRepeats hides them while it does something.
  async function withoutRepeats(action) {
    const hidden = repeats();
    for (const element of hidden) element.style.setProperty('display', 'none', 'important');
    try {
      return await action();
    } finally {
      for (const element of hidden) element.style.removeProperty('display');
    }
  }

  globalThis.harness = {
    stay: () => { leaving = false; }, // after all
    state, atRest, point, fill, check, value, focused, weight, repeats, withoutRepeats,
    text: (scope) => read(within(scope)),
    exists: (scope, selector) => [...within(scope).querySelectorAll(selector)].some(isVisible),
    status: () => performance.getEntriesByType('navigation')[0].responseStatus,
    overflow: () => document.documentElement.scrollWidth - innerWidth,
  };
})();
