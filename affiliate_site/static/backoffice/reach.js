// What the theme lets only a mouse press becomes a button, by keyboard and by ear.
const SPOKEN = [
  ["sidebarDesktopOpen", "Show or hide the menu"],
  ["sidebarMobileOpen", "Show or hide the menu"],
  ["openTheme", "Choose light or dark"],
  ["openUserLinks", "Your sign-in"],
  ["opencommand", "Search, or press Ctrl + K"],
  ["filterOpen = true", "Filters"],
  ["openTabsDropdown", "More tabs"],
];
// Parts of a page that scroll by themselves, which would all be called the same.
const SCROLLED = [
  ["#nav-sidebar-apps[data-simplebar]", "Menu"],
  ["#changelist-filter [data-simplebar]", "Filters"],
  ["#changelist-form [data-simplebar]", "Rows"],
  ['[x-data="searchCommand()"] [data-simplebar]', "What was found"],
];

document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll("[x-on\\:click]")) {
    if (element.matches("button, input, a[href], #changelist-filter-close")) continue;
    element.setAttribute("role", "button");
    element.tabIndex = 0;
    const spoken = SPOKEN.find(([part]) => element.getAttribute("x-on:click").includes(part));
    if (spoken) element.setAttribute("aria-label", spoken[1]);
  }
  for (const [place, spoken] of SCROLLED) {
    for (const element of document.querySelectorAll(place)) element.dataset.simplebarAriaLabel = spoken;
  }
  for (const place of ["tabs-items", "tabs-dropdown"]) {
    document.getElementById(place)?.setAttribute("aria-label", place === "tabs-items" ? "Tabs" : "More tabs");
  }
  document.querySelector("#tabs-items > .active")?.setAttribute("aria-current", "page");
  const palette = document.querySelector('[x-data="searchCommand()"]');
  palette?.setAttribute("role", "dialog");
  palette?.setAttribute("aria-label", "Search");
  palette?.querySelector("input").setAttribute("placeholder", "A page, or a whole id");
});

document.addEventListener("keydown", (event) => {
  if (!event.target.matches("[role=button][x-on\\:click]")) return;
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  event.target.click();
});
