// Makes elements of the theme that react only to clicks into accessible buttons.
// Labels of buttons, by a part of their click handler.
const BUTTON_LABELS = [
  ["sidebarDesktopOpen", "Toggle menu"],
  ["sidebarMobileOpen", "Toggle menu"],
  ["openTheme", "Switch between light and dark theme"],
  ["openUserLinks", "Account menu"],
  ["opencommand", "Search (Ctrl + K)"],
  ["filterOpen = true", "Filters"],
  ["openTabsDropdown", "More tabs"],
  ["showActions", "More actions"],
];
// Labels of scrolling regions, by selector; the theme gives all of them the same label.
const SCROLL_REGION_LABELS = [
  ["#nav-sidebar-apps[data-simplebar]", "Menu"],
  ["#changelist-filter [data-simplebar]", "Filters"],
  ["#changelist-form [data-simplebar]", "Rows"],
  ['[x-data="searchCommand()"] [data-simplebar]', "Search results"],
];

document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll("[x-on\\:click]")) {
    const handler = element.getAttribute("x-on:click");
    const entry = BUTTON_LABELS.find(([part]) => handler.includes(part));
    if (entry) element.setAttribute("aria-label", entry[1]);
    if (element.matches("button, input, a[href], #changelist-filter-close")) continue;
    element.setAttribute("role", "button");
    element.tabIndex = 0;
  }
  for (const [selector, label] of SCROLL_REGION_LABELS) {
    for (const element of document.querySelectorAll(selector)) element.dataset.simplebarAriaLabel = label;
  }
  document.querySelectorAll("[data-nav-part]").forEach(rememberFolding);
  document.getElementById("tabs-items")?.setAttribute("aria-label", "Tabs");
  document.getElementById("tabs-dropdown")?.setAttribute("aria-label", "More tabs");
  document.querySelector("#tabs-items > .active")?.setAttribute("aria-current", "page");
  // Without #main in the URL: with it, the next page would ignore `autofocus`.
  document.querySelector(".skip-link")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  const palette = document.querySelector('[x-data="searchCommand()"]');
  palette?.setAttribute("role", "dialog");
  palette?.setAttribute("aria-label", "Search");
  palette?.querySelector("input").setAttribute("placeholder", "Search pages, people, orders and IDs");
  // After the callbacks of Django's own scripts, which make the fields that search.
  window.django?.jQuery?.(nameSearchFields);
});

// A refused form begins at its first wrong field. Chromium forgets `autofocus` if the styles
// of a page arrive after its fields. When the next frame is drawn, it has focused the field
// or never will.
window.addEventListener("load", () => requestAnimationFrame(() => {
  const wrong = document.querySelector("form [aria-invalid=true]");
  if (wrong) focusWrongField(wrong);
  else if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();
}));

// What is folded in the sidebar stays so on other pages, but for the part with the page.
function rememberFolding(part) {
  const key = `sidebar: ${part.dataset.navPart}`;
  const stored = localStorage.getItem(key);
  if (stored && !part.querySelector(".active")) part.open = stored === "open";
  part.firstElementChild.addEventListener("click", () => {
    localStorage.setItem(key, part.open ? "folded" : "open");
  });
}

function focusWrongField(field) {
  for (let part = field.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  const search = field.matches(".select2-hidden-accessible") && field.nextElementSibling;
  const shown = search ? search.querySelector("input") ?? search.querySelector("[role=combobox]") : field;
  shown.focus({ preventScroll: true });
  shown.scrollIntoView({ block: "center" });
}

// Select2 names neither its field, unless it has a value, nor what it opens. It hides the
// <select> that the <label> belongs to.
function nameSearchFields() {
  for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
    const label = document.querySelector(`label[for="${select.id}"]`);
    const field = select.nextElementSibling.querySelector("[role=combobox]");
    const value = field.querySelector(".select2-selection__rendered");
    label.id = `${select.id}_label`;
    field.setAttribute("aria-labelledby", `${label.id} ${value.id}`);
    for (const name of ["aria-describedby", "aria-invalid"]) {
      if (select.hasAttribute(name)) field.setAttribute(name, select.getAttribute(name));
    }
    field.querySelector("input")?.setAttribute("aria-labelledby", label.id); // of several rows
    value.removeAttribute("role"); // a text in the field, not another field
    value.removeAttribute("aria-readonly");
    window.django.jQuery(select).on("select2:open", () => {
      const [search, list] = ["searchbox", "listbox"].map((role) => document.querySelector(`.select2-dropdown [role=${role}]`));
      for (const part of [search, list]) part?.setAttribute("aria-labelledby", label.id);
      field.setAttribute("aria-controls", list.id);
    });
  }
}

document.addEventListener("keydown", (event) => {
  if (!event.target.matches("[role=button][x-on\\:click]")) return;
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.target.click();
});
