// The composer: its text is kept in this browser until it was sent, and with the host for the others. Proposals,
// attachments. A page with a composer loads it.
import { $, fill, formOf, on, post, toEnd, words } from "./app.js";

const text = $("text"), composer = $("composer");
function setText(value) { text.value = value; text.dispatchEvent(new Event("input", { bubbles: true })); text.focus(); }
const place = `draft:${text.dataset.draft}`, files = () => $("files");
let saving = 0, proposals = [];
text.value = localStorage.getItem(place) || text.value;
const send = (other) => {
  if (!text.value.trim() && !files()?.files.length) return;
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: "other", value: "1" });
  if (other) composer.append(field);
  composer.requestSubmit($("send"));
  field.remove();
};
composer.addEventListener("submit", (event) => { // while the host is away the text stays, and the page says so
  if (text.dataset.save && document.documentElement.classList.contains("away")) { event.preventDefault(); event.stopPropagation(); }
});
const save = () => text.dataset.save && post(text.dataset.save, formOf({ text: text.value })).catch(() => {});
text.addEventListener("input", () => {
  localStorage.setItem(place, text.value);
  if (!CSS.supports("field-sizing", "content")) text.rows = Math.min(10, text.value.split("\n").length);
  clearTimeout(saving);
  saving = setTimeout(save, 800);
  propose();
});
composer.addEventListener("sent", ({ detail: { path, data } }) => { // what was typed since then stays
  if (!/\/(send|new)$/.test(path)) return;
  clearTimeout(saving);
  if (text.value.startsWith(data.get("text"))) text.value = text.value.slice(data.get("text").length);
  localStorage.setItem(place, text.value);
  showFiles(new DataTransfer());
  toEnd();
});
document.addEventListener("sent", ({ detail: { told } }) => { if (told.fill) setText(told.fill); });
text.addEventListener("keydown", (event) => {
  const { key } = event, list = $("completions") ?? { hidden: true };
  if (!list.hidden && ["ArrowDown", "Tab"].includes(key)) { event.preventDefault(); return list.firstElementChild?.focus(); }
  if (!list.hidden && key === "Escape") { event.stopPropagation(); list.hidden = true; return; }
  if (key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  send(event.ctrlKey || event.metaKey);
});
// Proposals after / and @
async function propose() {
  if (!text.dataset.completions) return;
  const before = text.value.slice(0, text.selectionStart);
  if (!/(^\/\S*|(^|\s)@\S*)$/.test(before)) { $("completions").hidden = true; return; }
  const told = await post(text.dataset.completions, formOf({ text: text.value, at: text.selectionStart })).catch(() => ({}));
  proposals = told.items ?? [];
  $("completions").replaceChildren(...proposals.map(({ label }, at) => Object.assign(document.createElement("button"),
    { type: "button", className: "menu-row", role: "option", textContent: label, value: at })));
  $("completions").hidden = !proposals.length;
}
on("click", "#completions button", ({ value }) => {
  const { insertText, rangeStart = 0, rangeEnd = text.selectionStart } = proposals[value];
  $("completions").hidden = true;
  setText(text.value.slice(0, rangeStart) + insertText + text.value.slice(rangeEnd));
});
// Attachments
function showFiles(chosen) {
  files().files = chosen.files;
  $("attachments").hidden = !chosen.files.length;
  $("attachments").replaceChildren(...[...chosen.files].map((file, at) => {
    const row = Object.assign(document.createElement("li"), { className: "tag", textContent: file.name });
    const drop = Object.assign(document.createElement("button"), { type: "button", className: "drop", textContent: "×" });
    drop.setAttribute("aria-label", fill(words.remove, { name: file.name }));
    drop.onclick = () => { const rest = new DataTransfer(); [...chosen.files].forEach((one, n) => n !== at && rest.items.add(one)); showFiles(rest); };
    row.append(drop);
    return row;
  }));
}
on("change", "#files", (field) => showFiles(field));
text.addEventListener("paste", ({ clipboardData }) => { if (clipboardData.files.length) showFiles(clipboardData); });
