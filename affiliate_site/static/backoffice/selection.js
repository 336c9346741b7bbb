// Lists: the selection survives a look at a row, and a link leads from a selected row to
// the actions. The selection of a list is kept in this tab until an action is confirmed,
// or the user leaves the list for another page than that of a row.
const SELECTION_KEY = `selection:${location.pathname}${location.search}`;

function loadSelection() {
  return new Set(JSON.parse(sessionStorage.getItem(SELECTION_KEY) ?? "[]"));
}

function hasLeftList() {
  const [navigation] = performance.getEntriesByType("navigation");
  if (navigation?.type !== "navigate") return false; // back, forward, reload
  return !document.referrer || !new URL(document.referrer).pathname.startsWith(location.pathname);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("form[data-clears-selection]")?.addEventListener("submit", () => {
    sessionStorage.removeItem(SELECTION_KEY);
  });
  const form = document.getElementById("changelist-form");
  const actions = form?.querySelector("select[name=action]");
  if (!actions) return;
  const checkboxes = [...form.querySelectorAll("input.action-select")];

  if (hasLeftList()) sessionStorage.removeItem(SELECTION_KEY);
  const selected = loadSelection();
  for (const checkbox of checkboxes) {
    if (!selected.has(checkbox.value)) continue;
    checkbox.checked = true; // Django counts the rows when the page is shown
    checkbox.closest("tr").classList.add("selected");
  }

  const link = document.createElement("a");
  link.href = "#changelist-actions";
  link.textContent = "Go to the actions";
  link.className = "selection-link visually-hidden";
  link.addEventListener("click", (event) => {
    event.preventDefault();
    actions.focus();
  });

  function placeLink(event) {
    if (!event.target.matches("input.action-select, #action-toggle")) return;
    if (!checkboxes.some((checkbox) => checkbox.checked)) link.remove();
    else if (link.previousSibling !== event.target) event.target.after(link);
  }
  function save() {
    setTimeout(() => { // after Django has selected or cleared other rows
      const values = checkboxes.filter((checkbox) => checkbox.checked).map((checkbox) => checkbox.value);
      sessionStorage.setItem(SELECTION_KEY, JSON.stringify(values));
    });
  }
  for (const name of ["change", "click"]) form.addEventListener(name, save);
  for (const name of ["change", "focusin"]) form.addEventListener(name, placeLink);
});
