// Keys of a tree table with switches in its rows (design, ui.md §6): rows by arrows, → opens and goes into the switches,
// where the browser's own radio keys choose; ← goes back; w tells why. Loaded by app.js where a page has such a tree.
const tree = document.querySelector("[data-tree]");
const rows = () => [...tree.querySelectorAll("tr.tree-row")];
const radios = (row) => [...row.querySelectorAll(".tri-track")].map((track) => track.querySelector("input:checked") ?? track.querySelector("input"));
function stop(row) { // one row is in the order of Tab, with its switches
  for (const one of rows()) {
    one.tabIndex = one === row ? 0 : -1;
    for (const input of one.querySelectorAll("input[type=radio]")) input.tabIndex = one === row ? 0 : -1;
  }
}
const to = (row) => { if (row) { stop(row); row.focus(); } };
const first = () => { if (!rows().some((row) => row.tabIndex === 0)) stop(rows()[0]); };
tree.addEventListener("focusin", ({ target }) => stop(target.closest("tr.tree-row")));
tree.addEventListener("keydown", (event) => {
  const row = event.target.closest("tr.tree-row"), all = rows(), at = all.indexOf(row), inside = event.target !== row;
  if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
  const twist = row.querySelector("button.twist"), open = row.getAttribute("aria-expanded");
  const parent = all.slice(0, at).reverse().find((one) => one.ariaLevel < row.ariaLevel);
  const act = {
    ArrowDown: () => to(all[at + 1]), ArrowUp: () => to(all[at - 1]), Home: () => to(all[0]), End: () => to(all.at(-1)),
    ArrowRight: inside ? null : () => (open === "false" ? twist.click() : radios(row)[0]?.focus()),
    ArrowLeft: inside ? null : () => (open === "true" ? twist.click() : to(parent)),
    Escape: inside ? () => to(row) : null,
    Enter: inside ? null : () => row.querySelector("[data-why]")?.click(),
    w: () => row.querySelector("[data-why]")?.click(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
});
tree.addEventListener("refused", ({ target }) => target.reset()); // the switch returns to what holds
new MutationObserver(first).observe(tree, { childList: true });
first();
