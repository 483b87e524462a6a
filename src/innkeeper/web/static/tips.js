// A tooltip for who comes by the keyboard: the pointer has the browser's own (design, ui.md §1: an icon alone has a name
// and a tooltip; §3: after 500 ms, also on focus).
const tip = Object.assign(document.createElement("div"), { className: "tip", popover: "manual" });
tip.setAttribute("aria-hidden", "true"); // its words are the name of the control already
let due = 0;
function hide() {
  clearTimeout(due);
  tip.remove();
}
function show(control) { // the focused control is its anchor, by the style sheet
  tip.textContent = control.title;
  document.body.append(tip);
  tip.showPopover?.();
}
document.addEventListener("focusin", ({ target }) => {
  hide();
  if (target.title && target.matches("button,a") && target.matches(":focus-visible")) due = setTimeout(show, 500, target);
});
for (const type of ["focusout", "keydown", "pointerdown"]) document.addEventListener(type, hide, true);
addEventListener("scroll", hide, true);
