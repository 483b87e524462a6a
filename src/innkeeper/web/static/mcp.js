// The MCP panel and the editor of declarations: what they need beyond app.js. The host says what a form comes to; this
// keeps what was typed until it is saved or its loss was confirmed (M9.5).
import { $, on, parse, morph, post, choose, formOf, opened, settle, toast, words } from "./app.js";

const dialog = () => $("mcp-editor"), form = () => $("edit-form"), box = () => $("mcp-box");
let clean = "", checking = 0, going = null, current = "";

// Answers with pieces of the page, by id: morphed, or put in place afresh
function take({ pieces = {}, fresh = {} }) {
  for (const [id, html] of Object.entries(pieces)) if ($(id)) morph($(id), parse(html).firstElementChild);
  for (const [id, html] of Object.entries(fresh)) $(id)?.replaceWith(parse(html).firstElementChild);
  settle();
}
document.addEventListener("sent", ({ target, detail: { told } }) => {
  take(told);
  if (told.revision) for (const field of document.querySelectorAll("[name=revision]")) field.value = told.revision;
  if (target.id === "edit-form") { begin(told.name); $("tab-form")?.focus(); }
  if (target.closest("#edit-delete")) show("view=manage", "");
  if (target.id === "edit-copy-form" && told.query) show(new URLSearchParams(told.query), told.name);
});
document.addEventListener("refused", ({ target, detail: { error } }) => {
  const { message, code, remedy } = error;
  if (target.id === "edit-form") check({ failed: JSON.stringify({ message, code, remedy }) }, true);
  const group = code === "SETTINGS_CONFLICT" && target.closest(".setting-group")?.querySelector(".conflict-note");
  if (group) { opened.set(group.id, true); group.hidden = false; }
});

// The panel
function hidePanel(back) {
  if (!box() || box().hidden) return;
  box().hidden = true;
  $("mcp-control").setAttribute("aria-expanded", "false");
  if (back) $("mcp-control").focus();
}
on("click", "#mcp-control", () => { if (box() && !box().hidden) box().querySelector(".mcp-rows button:not(:disabled)")?.focus(); });
on("click", "[data-leave]", () => hidePanel(true));
on("click", "[data-unfold]", (button) => {
  const opener = document.querySelector(`[data-fold][aria-controls="${CSS.escape(button.dataset.unfold)}"]`);
  opener.click();
  opener.focus();
});
on("click", "#mcp-box [data-dialog]", () => {
  hidePanel();
  $("mcp-all").addEventListener("close", () => { if (box().hidden) $("mcp-control").click(); }, { once: true });
});

// The editor: its content is loaded, and asked about before it is lost
const shape = () => {
  if (!form()) return "";
  const data = new FormData(form());
  data.delete("form_token");
  return new URLSearchParams(data).toString();
};
const dirty = () => Boolean(form()) && shape() !== clean;
function begin(name = current) {
  clean = shape();
  current = name;
  choose("mcp-edit", name);
  dialog().removeAttribute("data-dirty");
  const list = dialog().querySelector("[data-edit-select]");
  if (list) list.value = [...list.options].find((one) => one.dataset.name === name)?.value ?? "";
}
async function show(query, name) {
  hidePanel();
  if (!dialog().open) dialog().showModal();
  const body = $("mcp-edit-body");
  body.setAttribute("aria-busy", "true");
  try {
    const asked = new URLSearchParams(query);
    asked.set("chat", dialog().dataset.chat);
    const answer = await fetch(`${dialog().dataset.editor}?${asked}`, { headers: { accept: "application/json, text/html" } });
    if (answer.ok) body.replaceChildren(parse(await answer.text()));
    else toast((await answer.json()).message, true);
  } catch { toast(words.failed, true); }
  body.removeAttribute("aria-busy");
  begin(name ?? form()?.elements.server?.value ?? "");
  settle();
  (name ? $("tab-form") : $("edit-name") ?? $("panel-form"))?.focus();
}
function leave(then) {
  if (!dirty()) return then();
  going = then;
  $("edit-discard").showModal();
}
function close() {
  dialog().close();
  $("mcp-edit-body").replaceChildren();
  clean = "";
  choose("mcp-edit", "");
  $("mcp-control").focus();
}
const viewOf = (wanted) => (wanted === "manage" || wanted === "scan" ? `view=${wanted}` : wanted);
on("click", "[data-edit]", (button) => leave(() => show(viewOf(button.dataset.edit), button.dataset.name)));
on("click", "[data-edit-file]", (button) => leave(() => show(new URLSearchParams({ file: button.dataset.editFile }), "")));
on("change", "[data-edit-select]", (list) => leave(() => show(list.value, list.selectedOptions[0].dataset.name)));
on("click", "[data-leave-editor]", () => leave(close));
on("click", "[data-discard]", () => {
  $("edit-discard").close();
  clean = shape();
  going?.();
});
addEventListener("beforeunload", (event) => { if (dirty()) event.preventDefault(); });

// What the form comes to
function changed() {
  dialog().toggleAttribute("data-dirty", dirty());
  clearTimeout(checking);
  checking = setTimeout(check, 200);
}
async function check(more = {}, any = false) {
  const sent = shape(), was = dirty(), data = new FormData(form());
  for (const [name, value] of Object.entries(more)) data.set(name, value);
  const told = await post(form().dataset.check, data).catch((error) => toast(error.message, true));
  if (!told || !form() || (shape() !== sent && !any)) return;
  take(told);
  if (!was) clean = shape();
  dialog().toggleAttribute("data-dirty", dirty());
}
on("input", "#edit-form", changed);
on("click", "[data-mode]", (button) => check({ to_mode: button.dataset.mode }, true));
on("click", "[data-adopt]", () => check({ adopt: "1" }, true));
on("click", "[data-adopt-new]", () => leave(() => {
  const { server, preset, file } = form().elements;
  show(new URLSearchParams({ server: server.value, preset: preset.value, file: file.value }), server.value);
}));
on("click", "[data-goto]", (button) => {
  const place = $(button.dataset.goto);
  place?.scrollIntoView({ block: "center" });
  (place?.matches("input,textarea,select,[tabindex]") ? place : place?.querySelector("input"))?.focus();
});
on("sending", "#edit-form", (_, { detail: { button } }) => button?.querySelector(".spinner")?.removeAttribute("hidden"));
on("input", "#edit-copy-form", (copy) => {
  clearTimeout(checking);
  checking = setTimeout(async () => {
    const data = new FormData(copy);
    data.set("check", "1");
    take(await post(copy.dataset.checked, data).catch(() => ({})));
  }, 200);
});

// Rows of variables and headers
let added = 0;
on("click", "[data-add]", ({ dataset: { add } }) => {
  const rows = $(`edit-${add}-rows`), html = $(`edit-${add}-new`).innerHTML;
  added += 1;
  rows.append(parse(html.replaceAll("NEW", `n${added}`).replaceAll("{n}", rows.childElementCount + 1)));
  rows.lastElementChild.querySelector(`[name=${add}_key]`).focus();
  changed();
});
on("click", "[data-drop]", (button) => {
  const row = button.closest(".pair-row"), next = row.nextElementSibling ?? row.previousElementSibling;
  const add = row.closest("fieldset").querySelector("[data-add]");
  row.remove();
  (next?.querySelector("input:not([type=hidden])") ?? add)?.focus();
  changed();
});
on("click", "[data-show]", async (button) => {
  const row = button.closest(".pair-row"), table = button.dataset.show, show = button.getAttribute("aria-pressed") !== "true";
  const input = row.querySelector(`[name=${table}_value]`), keep = row.querySelector(`[name=${table}_keep]`);
  if (show && keep.value && !input.value) {
    const { server, preset, file } = form().elements, was = dirty();
    const told = await post(form().dataset.value, formOf({ server: server.value, preset: preset.value, file: file.value, table, key: keep.value }))
      .catch((error) => toast(error.message, true));
    if (!told) return;
    input.value = told.value;
    keep.value = "";
    if (!was) clean = shape();
  }
  input.type = show ? "text" : "password";
  button.setAttribute("aria-pressed", show);
});

// Tabs, and the editor's keys
function tab(chosen) {
  for (const one of chosen.closest("[role=tablist]").querySelectorAll("[role=tab]")) {
    one.setAttribute("aria-selected", one === chosen);
    one.tabIndex = one === chosen ? 0 : -1;
    $(one.getAttribute("aria-controls")).hidden = one !== chosen;
  }
  settle();
}
on("click", "[data-tabs] [role=tab]", tab);
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  const list = target.closest?.("[data-tabs]");
  if (list && ["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) {
    const tabs = [...list.children].filter((one) => one.offsetParent), at = tabs.indexOf(target);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[key];
    const chosen = tabs[(next + tabs.length) % tabs.length];
    tab(chosen);
    chosen.focus();
    return event.preventDefault();
  }
  if (!dialog()?.open) return;
  if ((event.ctrlKey || event.metaKey) && key === "s") {
    event.preventDefault();
    if ($("edit-save") && !$("edit-save").disabled) $("edit-save").click();
  }
  if (key === "Escape" && [...document.querySelectorAll("dialog[open]")].at(-1) === dialog()) {
    event.preventDefault();
    event.stopPropagation();
    leave(close);
  }
}, true);

// Settings: looked at again while they are shown, and a choice that was not confirmed goes back
const { base, page } = document.body.dataset;
const again = () => post(`${base}/-/choose`, formOf({ page, name: "settings", value: String(Date.now()) })).catch(() => {});
if (document.querySelector("[data-settings]")) setInterval(() => document.hidden || again(), 3000);
document.addEventListener("close", ({ target }) => {
  if (target.id === "trust-all") $("trust-form").reset();
}, true);
