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
    if (element.matches("button, input, a[href], #changelist-filter-close")) continue;
    element.setAttribute("role", "button");
    element.tabIndex = 0;
    const handler = element.getAttribute("x-on:click");
    const entry = BUTTON_LABELS.find(([part]) => handler.includes(part));
    if (entry) element.setAttribute("aria-label", entry[1]);
  }
  for (const [selector, label] of SCROLL_REGION_LABELS) {
    for (const element of document.querySelectorAll(selector)) element.dataset.simplebarAriaLabel = label;
  }
  document.getElementById("tabs-items")?.setAttribute("aria-label", "Tabs");
  document.getElementById("tabs-dropdown")?.setAttribute("aria-label", "More tabs");
  document.querySelector("#tabs-items > .active")?.setAttribute("aria-current", "page");
  const palette = document.querySelector('[x-data="searchCommand()"]');
  palette?.setAttribute("role", "dialog");
  palette?.setAttribute("aria-label", "Search");
  palette?.querySelector("input").setAttribute("placeholder", "Go to a page, or search by exact ID");
});

document.addEventListener("keydown", (event) => {
  if (!event.target.matches("[role=button][x-on\\:click]")) return;
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.target.click();
});
