// What stands beside a conversation: drawers, and the tree of customizations. Loaded by app.js where a page has them.

// Drawers: Esc closes, focus goes back to what opened it; output that is read at its end stays at its end.
const drawer = document.getElementById("drawer");
let opener = null;
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-choice=drawer]");
  if (button?.matches("[data-close-drawer]")) opener?.focus?.();
  else if (button && !button.closest("#drawer")) {
    const menu = button.closest(".menu");
    if (menu) menu.hidden = true;
    opener = menu ? document.querySelector(`[data-menu="${menu.id}"]`) : button;
  }
});
drawer?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.target.closest("dialog")) return;
  event.preventDefault();
  drawer.querySelector("[data-close-drawer]")?.click();
});
drawer?.addEventListener("sent", ({ target }) => {
  const field = target.matches("[data-clear]") ? target.querySelector("input.field") : null;
  if (field) { field.value = ""; field.focus(); }
});
let atEnd = true;
drawer?.addEventListener("scroll", ({ target }) => {
  if (target.matches?.("[data-stick]")) atEnd = target.scrollHeight - target.scrollTop - target.clientHeight <= 48;
}, { capture: true, passive: true });
const stick = () => { const body = drawer.querySelector("[data-stick]"); if (body && atEnd) body.scrollTop = body.scrollHeight; };
if (drawer) new MutationObserver(stick).observe(drawer, { childList: true, subtree: true, characterData: true });

// Keys of a tree table with switches in its rows (design, ui.md §6): rows by arrows, → opens and goes into the switches,
// where the browser's own radio keys choose; ← goes back; w tells why.
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
if (tree) {
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
}
