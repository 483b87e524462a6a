// The one script of the pages: patches by id, forms without a reload, folds, menus, keys, clocks. Everything is
// declared by data attributes, so that a page needs no script of its own (docs/decisions/0026-web-ui.md).
const body = document.body, root = document.documentElement;
const base = body.dataset.base, words = JSON.parse(body.dataset.words);
const $ = (id) => document.getElementById(id);
const text = $("text");
const on = (type, selector, act, options) => document.addEventListener(type, (event) => {
  const hit = event.target.closest?.(selector);
  if (hit) act(hit, event);
}, options);
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

// Patches: the old element stays and becomes the new one, so that focus, selection, folds and scrolling stay.
const opened = new Map(); // folds that the person has touched
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.hasAttribute("data-keep") && fresh.hasAttribute("data-keep")) return;
  const touched = old.matches("[data-fold]") && opened.has(old.getAttribute("aria-controls"));
  const kept = (name) => (name === "hidden" && opened.has(old.id)) || (name === "aria-expanded" && (touched || old.matches("[data-menu]"))) ||
    (name === "open" && old.matches("dialog,details")) || (name === "hidden" && old.matches(".menu")) ||
    (name === "tabindex" && old.closest("[data-tree]"));
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !kept(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes)
    if (!kept(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.matches("[data-submit]") && "checked" in old && !old.form?.hasAttribute("aria-busy")) old.checked = fresh.checked;
  if (old.matches("textarea,select") && old === document.activeElement) return;
  if (old.dataset.load && old.dataset.loaded === fresh.dataset.load) return;
  morphChildren(old, fresh);
}
const idOf = (node) => node?.getAttribute?.("id") ?? ""; // not `.id`: a form's is its field of that name
function morphChildren(old, fresh) {
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const id = idOf(next), here = idOf(at);
    const known = id && here !== id ? [...old.children].find((one) => idOf(one) === id) : null;
    if (known) old.insertBefore(known, at);
    else if (!at || here !== id) {
      old.insertBefore(next, at);
      continue;
    }
    const current = known ?? at;
    at = current.nextSibling;
    morph(current, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
const acts = {
  put: ({ id, html }) => $(id) && morph($(id), parse(html).firstElementChild),
  fill: ({ id, html }) => $(id) && morphChildren($(id), parse(html)),
  del: ({ id }) => $(id)?.remove(),
  add: ({ in: place, before, html }) => $(place)?.insertBefore(parse(html), before ? $(before) : null),
  move: ({ in: place, before, id }) => $(place)?.insertBefore($(id), before ? $(before) : null),
};
let acted = 0; // when the person did something
let later = false; // the order of a list in which somebody is waits until they have left
const inList = (list) => list?.matches(":hover") || list?.contains(document.activeElement);
function apply(patches) {
  const follow = atEnd();
  for (const patch of patches) {
    const ordered = (patch.in ?? $(patch.id)?.parentElement?.id) === "sessions" && patch.op !== "put";
    if (ordered && Date.now() - acted > 2000 && inList($("sessions"))) later = true;
    else acts[patch.op](patch);
  }
  settle();
  if (follow) toEnd();
  else if (patches.some((patch) => patch.op !== "put" || patch.id?.startsWith("t-"))) showBelow();
}
// A skeleton comes after 200 ms (CSS) and stays for 300 at least: what takes its place waits so long.
let appeared = -300, held = [], due = 0;
document.addEventListener("animationstart", ({ animationName }) => { if (animationName === "appear") appeared = performance.now(); });
const unripe = (place = document) => (place.querySelector(".skeleton,[data-load]:empty") ? Math.max(0, appeared + 300 - performance.now()) : 0);
function take(patches) {
  held.push(...patches);
  clearTimeout(due);
  const wait = unripe();
  if (wait) due = setTimeout(take, wait, []);
  else apply(held.splice(0));
}
setInterval(() => {
  if (!later || inList($("sessions"))) return;
  later = false;
  seen = ""; // everything anew
  connect();
}, 500);

// The stream: opened while the page is looked at, again and again until the host answers.
let source = null, seen = "", wait = 1, retry = 0;
function connect() {
  clearTimeout(retry);
  source?.close();
  if (!body.dataset.page || document.hidden) return;
  const query = new URLSearchParams({ page: body.dataset.page, at: body.dataset.at, after: seen });
  source = new EventSource(`${base}/-/live?${query}`);
  source.addEventListener("hello", ({ data }) => {
    const hello = JSON.parse(data);
    wait = 1;
    root.classList.remove("away");
    $("away")?.remove();
    body.dataset.form = hello.form;
    for (const field of document.querySelectorAll("input[name=form_token]")) field.value = hello.form;
    if (hello.files !== body.dataset.files) stale();
    if (hello.fresh) for (const [name, value] of chosen) choose(name, value);
  });
  source.addEventListener("patch", ({ data, lastEventId }) => { seen = lastEventId; take(JSON.parse(data)); });
  source.addEventListener("stale", stale);
  source.addEventListener("gone", ({ data }) => { source.close(); toast(JSON.parse(data).message, true); });
  source.onerror = () => {
    source.close();
    away(wait);
    retry = setTimeout(connect, wait * 1000);
    wait = Math.min(wait * 2, 8);
  };
}
function away(seconds) {
  root.classList.add("away");
  const line = $("away") ?? Object.assign(document.createElement("p"), { id: "away", className: "lost", role: "alert" });
  line.dataset.until = new Date(Date.now() + seconds * 1000).toISOString();
  line.dataset.text = words.away;
  if (!line.isConnected) $("main")?.before(line);
  tick();
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) setTimeout(() => document.hidden && source?.close(), 5000);
  else if (!source || source.readyState === 2) connect();
});
const stale = () => $("stale") || toast(words.stale, false, { id: "stale", act: words.reload, run: () => location.reload() });

// Toasts
function toast(message, bad = false, { id = "", act = "", run = null } = {}) {
  const box = document.createElement("div");
  box.className = bad ? "toast bad" : "toast";
  box.id = id;
  if (bad) box.append(parse(words.bad_icon));
  box.setAttribute("role", bad ? "alert" : "status");
  const line = document.createElement("p");
  line.textContent = message;
  box.append(line);
  const button = (label, does) => {
    const made = Object.assign(document.createElement("button"), { type: "button", className: "button small ghost" });
    made.textContent = label;
    made.onclick = () => { box.remove(); does?.(); };
    box.append(made);
  };
  if (act) button(act, run);
  button(words.close);
  $("toasts").append(box);
  const end = () => (box.matches(":hover,:focus-within") ? setTimeout(end, 2000) : box.remove());
  if (!bad && !act) setTimeout(end, 6000);
}

function working() { // what takes over two seconds says that it goes on
  const line = Object.assign(document.createElement("p"), { className: "toast working" });
  line.setAttribute("role", "status");
  line.append(Object.assign(document.createElement("span"), { className: "spinner" }), words.working);
  $("toasts").append(line);
  return line;
}

// Forms: sent in place; what was typed stays when it fails.
async function post(path, form) {
  const answer = await fetch(path, { method: "POST", body: form, headers: { accept: "application/json" } });
  if (answer.status === 204) return {};
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(told.message || words.failed), told);
  return told;
}
on("submit", "form[data-live]", async (form, event) => {
  event.preventDefault();
  const button = event.submitter;
  const path = button?.getAttribute("formaction") || form.getAttribute("action");
  const data = new FormData(form, button);
  form.setAttribute("aria-busy", "true");
  acted = Date.now();
  if (button) button.disabled = true;
  let line = null;
  const late = setTimeout(() => { line = working(); }, 2000);
  form.dispatchEvent(new CustomEvent("sending", { bubbles: true, detail: { path, button } }));
  try {
    const told = await post(path, data);
    (form.isConnected ? form : body).dispatchEvent(new CustomEvent("sent", { bubbles: true, detail: { path, told, data } }));
    if (told.to) location.assign(told.to);
    if (told.link) toast(told.said, false, { act: words.open, run: () => window.open(told.link, "_blank", "noopener") });
    else if (told.said) toast(told.said);
    form.closest("dialog[data-once]")?.close();
    for (const secret of form.querySelectorAll("[type=password][name=key]")) secret.value = "";
  } catch (error) {
    form.dispatchEvent(new CustomEvent("refused", { bubbles: true, detail: { path, error } }));
    if (!form.hasAttribute("data-quiet")) toast([error.message, error.remedy, error.code].filter(Boolean).join(" · "), true);
  } finally {
    clearTimeout(late);
    line?.remove();
    form.removeAttribute("aria-busy");
    if (button) button.disabled = false;
    settle();
  }
});
on("change", "[data-submit]", (field) => field.form.requestSubmit());
const choosing = new Map();
on("input", "[data-choose]", (field) => {
  clearTimeout(choosing.get(field));
  choosing.set(field, setTimeout(() => choose(field.dataset.choose, field.value), 120));
});
on("submit", "form[role=search]", (_, event) => event.preventDefault());
const chosen = new Map();
function formOf(values) {
  const form = new FormData();
  for (const [key, value] of Object.entries({ ...values, form_token: body.dataset.form })) form.set(key, value);
  return form;
}
function choose(name, value) {
  chosen.set(name, value);
  acted = Date.now();
  return post(`${base}/-/choose`, formOf({ page: body.dataset.page, name, value })).catch((error) => toast(error.message, true));
}
on("click", "[data-choice]", (button) => choose(button.dataset.choice, button.value));

// Folds, menus, dialogs, pieces that load when they are wanted
on("click", "[data-fold]", (button) => {
  const region = $(button.getAttribute("aria-controls"));
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", open);
  region.hidden = !open;
  opened.set(region.id, open);
  settle();
});
on("click", "[data-menu]", (button, event) => {
  event.preventDefault();
  const menu = $(button.dataset.menu), open = menu.hidden;
  closeMenus();
  menu.hidden = !open;
  button.setAttribute("aria-expanded", open);
  settle();
  if (open) (menu.querySelector("[aria-selected=true],[aria-checked=true]") ?? focusables(menu)[0])?.focus();
});
const focusables = (place) => [...place.querySelectorAll("a[href],button:not(:disabled),input:not([type=hidden]),textarea,select,[tabindex='0']")].filter((one) => one.offsetParent);
function closeMenus(back = false) {
  for (const menu of document.querySelectorAll(".menu:not([hidden])")) {
    menu.hidden = true;
    const opener = document.querySelector(`[data-menu="${CSS.escape(menu.id)}"]`);
    opener?.setAttribute("aria-expanded", "false");
    if (back) opener?.focus();
  }
}
document.addEventListener("click", (event) => { if (!event.target.closest(".menu,[data-menu],dialog,.toasts")) closeMenus(); });
on("click", "[data-dialog]", (button) => {
  const dialog = $(button.dataset.dialog);
  if (!dialog.closest(".menu")) closeMenus(true);
  dialog.showModal();
  settle();
});
document.addEventListener("close", ({ target }) => { if (target.closest(".menu")) closeMenus(true); }, true);
on("click", "[data-close]", (button) => button.closest("dialog").close());
async function load(place) {
  if (place.dataset.loaded === place.dataset.load) return;
  place.dataset.loaded = place.dataset.load;
  try {
    const answer = await fetch(place.dataset.load, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(words.failed);
    const fresh = parse(await answer.text());
    await new Promise((done) => setTimeout(done, unripe(place.parentElement)));
    place.replaceChildren(fresh);
    if (place.matches(".menu:not([hidden])")) focusables(place)[0]?.focus();
    settle();
  } catch { place.textContent = words.not_loaded; }
}
on("click", "[data-copy]", async (button) => {
  const words_ = $(button.dataset.copy)?.textContent ?? button.closest(".code").querySelector("pre").textContent;
  const copy = (event) => { event.preventDefault(); event.clipboardData.setData("text/plain", words_); };
  if (navigator.clipboard) await navigator.clipboard.writeText(words_).catch(() => {});
  else { document.addEventListener("copy", copy, { once: true }); document.execCommand("copy"); } // plain HTTP
  toast(words.copied);
});

// Reading: the view follows at the end, and stays everywhere else.
const main = $("main");
on("submit", "[data-older]", () => { // what is read stays where it is while older turns come above it
  const height = main.scrollHeight, top = main.scrollTop;
  new MutationObserver((_, watch) => { watch.disconnect(); main.scrollTop = top + main.scrollHeight - height; }).observe($("log"), { childList: true });
});
const atEnd = () => main?.hasAttribute("data-follow") && main.scrollHeight - main.scrollTop - main.clientHeight <= 48;
function toEnd() { if (main?.hasAttribute("data-follow")) main.scrollTop = main.scrollHeight; if ($("below")) $("below").hidden = true; }
const showBelow = () => { if ($("below") && !atEnd()) $("below").hidden = false; };
main?.addEventListener("scroll", () => { if (atEnd() && $("below")) $("below").hidden = true; }, { passive: true });

// Clocks, in the browser
const lang = root.lang;
const spaced = (words) => words.replace(/(\d)(?=\p{Script=Han})|(\p{Script=Han})(?=\d)/gu, "$1$2 "); // 6 分钟
const unit = (value, name) => spaced(new Intl.NumberFormat(lang, { style: "unit", unit: name, unitDisplay: "short" }).format(value));
function ago(date) {
  const seconds = (Date.now() - date) / 1000;
  if (seconds < 60) return words.now;
  if (seconds < 3600) return unit(Math.floor(seconds / 60), "minute");
  if (seconds < 86400) return unit(Math.floor(seconds / 3600), "hour");
  if (seconds < 604800) return date.toLocaleDateString(lang, { weekday: "short" });
  return spaced(date.toLocaleDateString(lang, { day: "numeric", month: "short" }));
}
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
const write = (place, text) => { if (place.textContent !== text) place.textContent = text; };
function tick() {
  for (const place of document.querySelectorAll("time[data-clock]"))
    write(place, new Date(place.dateTime).toLocaleTimeString(lang, { hour: "2-digit", minute: "2-digit" }));
  for (const place of document.querySelectorAll("time[data-ago]")) write(place, ago(new Date(place.dateTime)));
  for (const place of document.querySelectorAll("[data-since]"))
    write(place, fill(place.dataset.text ?? words.seconds, { n: Math.max(0, Math.floor((Date.now() - new Date(place.dataset.since)) / 1000)) }));
  for (const place of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.ceil((new Date(place.dataset.until) - Date.now()) / 1000));
    write(place, fill(place.dataset.text ?? "{clock}", { n: left, clock: clock(left) }));
  }
}
setInterval(tick, 1000);
function settle() {
  tick();
  if (text?.dataset.save) text.placeholder = $("stop") ? (innerWidth < 640 ? words.running_short : words.running) : words.idle;
  for (const place of document.querySelectorAll("[data-load]")) if (place.offsetParent) load(place);
  for (const head of document.querySelectorAll(".code-head:not(:has(button))")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "icon-button small", title: words.copy });
    button.dataset.copy = "";
    button.setAttribute("aria-label", words.copy);
    button.append(parse(words.copy_icon));
    head.append(button);
  }
}

// The list at the left
const app = $("app");
on("click", "[data-act]", (button) => {
  const wide = matchMedia("(min-width: 1024px)").matches;
  switch (button.dataset.act) {
    case "fold-list": case "show-list":
      if (wide) { app.classList.toggle("folded"); document.cookie = `innkeeper_list=${app.classList.contains("folded") ? "folded" : ""};path=${base || "/"};max-age=31536000;samesite=strict`; }
      else app.classList.toggle("drawer");
      break;
    case "drawer": app.classList.remove("drawer"); break;
    case "end": toEnd(); break;
    case "pickers": $("composer").classList.toggle("picking"); break;
  }
});

// Keys
const typing = () => document.activeElement?.closest("input:not([type=radio],[type=checkbox]),textarea,select,[contenteditable]");
const single = { "/": "search", n: "new-session", c: "text", "?": "keys", q: "" };
function step(list, key) { // up, down, first, last among the rows of a list
  const sessions = list.id === "sessions", rows = sessions ? [...list.querySelectorAll(".session")] : focusables(list);
  const at = rows.findIndex((row) => (sessions ? row.parentElement : row).contains(document.activeElement));
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[key];
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
}
function go(back, needs) {
  const rows = [...document.querySelectorAll("#sessions .session")].filter((row) => !needs || row.querySelector(".attention"));
  const at = rows.findIndex((row) => row.matches("[aria-current]"));
  (rows[at + (back ? -1 : 1)] ?? (needs && rows[back ? rows.length - 1 : 0]))?.click();
}
document.addEventListener("keydown", (event) => {
  const { key } = event, focused = document.activeElement;
  const list = focused?.closest(".menu,[data-arrows],#sessions");
  if (key === "Escape" && document.querySelector(".menu:not([hidden])")) return event.preventDefault(), closeMenus(true);
  if (list && ["ArrowDown", "ArrowUp", "Home", "End"].includes(key) && !event.altKey && !typing()) return event.preventDefault(), step(list, key);
  if ((event.ctrlKey || event.metaKey) && key === ".") return $("stop")?.click();
  if (event.altKey && (key === "ArrowUp" || key === "ArrowDown") && !typing() && !list?.matches(".menu")) return event.preventDefault(), go(key === "ArrowUp", event.shiftKey);
  if (typing() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const gate = focused?.closest("[data-gate]");
  if (gate && /^[1-9]$/.test(key)) return gate.querySelector(`[data-answer="${key}"]`)?.click();
  if (root.dataset.keys === "off") return;
  if (key === "q") return document.querySelector("[data-gate]")?.focus();
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`) ?? $(single[key]);
  if (!target) return;
  event.preventDefault();
  if (target.matches("dialog")) target.showModal();
  else if (target.matches("input,textarea")) target.focus();
  else target.click();
});

document.querySelector(".settings-nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
settle();
toEnd();
connect();
import("./tips.js");
if (document.querySelector("#drawer,[data-tree]")) import("./beside.js");
if ($("mcp-control") || document.querySelector("[data-settings]")) import("./mcp.js");
export { $, choose, fill, formOf, morph, on, opened, parse, post, settle, toEnd, toast, words };
