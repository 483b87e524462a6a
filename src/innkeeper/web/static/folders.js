// Choosing a folder for a new session: the host says which there are; the field takes the one that was chosen.
import { $, on, parse, words, toast } from "./app.js";

const dialog = $("folders"), field = $("folder"), browse = $("browse");
const rows = () => [...dialog.querySelectorAll(".folder-list button")];
browse.hidden = false;
async function show(at, from = "") {
  try {
    const answer = await fetch(`${dialog.dataset.from}?${new URLSearchParams({ at })}`, { headers: { accept: "application/json, text/html" } });
    if (!answer.ok) throw new Error((await answer.json()).message);
    $("folders-in").replaceWith(parse(await answer.text()).firstElementChild);
  } catch (error) { return toast(error.message || words.failed, true); }
  (rows().find((one) => one.dataset.folder === from) ?? rows()[0] ?? $("folders-take")).focus();
}
on("click", "#browse", () => { dialog.showModal(); show(field.value); });
on("click", "#folders [data-folder]", ({ dataset }) => show(dataset.folder, "above" in dataset ? $("folders-in").dataset.at : ""));
on("click", "#folders-take", () => {
  if ($("folders-in").dataset.at) field.value = $("folders-in").dataset.at;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  dialog.close();
});
dialog.addEventListener("close", () => browse.focus());
dialog.addEventListener("keydown", (event) => { // ← and Backspace go up, → in; a letter goes to the next name that begins so
  const { key, target } = event, all = rows(), at = all.indexOf(target);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (["ArrowLeft", "Backspace"].includes(key)) dialog.querySelector("[data-above]")?.click();
  else if (key === "ArrowRight" && at >= 0) target.click();
  else if (/^\S$/u.test(key) && at >= 0) [...all.slice(at + 1), ...all.slice(0, at)].find((one) => one.textContent.trim().toLowerCase().startsWith(key.toLowerCase()))?.focus();
  else return;
  event.preventDefault();
});
