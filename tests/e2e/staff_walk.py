"""A staff user who clicks through the back office, and counts the clicks of a job."""

import re
from contextlib import contextmanager
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT

from tests.e2e.test_accessibility import ANIMATIONS_FINISHED, OVERFLOW, RUN_AXE_SCRIPT
from tests.e2e.test_back_office import BackOfficePage

UNFOLD_PARENTS = """element => {
  for (let part = element; (part = part.parentElement.closest("details")); ) part.open = true;
}"""
SIDEBAR_WIDTH = 1280  # pixels of the window from which the sidebar is always open


class StaffWalk(BackOfficePage):
    """Fills fields by their labels and clicks links and buttons by their names.

    Each page that loads has to fit the width; the first one of each kind is checked by
    axe, unless `checked_pages`, the kinds that were checked, is None.
    """

    def __init__(self, context, server, account, checked_pages: set[str] | None) -> None:
        super().__init__(context, server)
        self.account = account
        self.checked_pages = checked_pages
        self.click_count = 0
        self.too_long: list[str] = []  # jobs with more clicks than expected

    @contextmanager
    def job(self, name: str, *, clicks: int):
        """A job that takes at most so many clicks; opening the menu does not count."""
        before = self.click_count
        yield
        count = self.click_count - before
        if count > clicks:
            self.too_long.append(f"{name}: {count} clicks instead of {clicks}")

    @property
    def main(self):
        return self.page.locator("[role=main]")

    @property
    def text(self) -> str:
        """The text of the page without sidebar, with plain spaces only."""
        return self.main.inner_text().replace("\u00a0", " ")

    def load(self, locator) -> str:
        """Click what loads another page; returns the text of that page."""
        self.click_count += 1
        with self.page.expect_navigation(wait_until="load"):
            locator.click()
        self.check_page()
        return self.text

    def follow(self, name: str, index: int = 0) -> str:
        """Click a link of the page, one of several with the same name."""
        return self.load(self.find("link", name).nth(index))

    def press(self, name: str) -> str:
        """Click a button that loads another page."""
        return self.load(self.find("button", name).first)

    def find(self, role: str, name: str):
        return self.main.get_by_role(role, name=name, exact=True)

    def go(self, title: str) -> str:
        """Click an entry of the sidebar, which may be folded."""
        self.open_menu()
        links = self.page.locator("#nav-sidebar-apps .nav-item")
        link = links.filter(has_text=re.compile(rf"{title}$"))
        link.evaluate(UNFOLD_PARENTS)
        return self.load(link)

    @property
    def is_phone(self) -> bool:
        return self.page.viewport_size["width"] < SIDEBAR_WIDTH

    def open_menu(self) -> None:
        """Show the sidebar, if the window is too narrow for it."""
        if self.is_phone:
            self.page.locator("[aria-label='Toggle menu']:visible").click()

    def fill(self, entries: dict[str, object]) -> None:
        """Fill fields, choose options and set switches, by their labels."""
        for label, value in entries.items():
            field = self.find_field(label)
            if isinstance(value, bool):
                field.set_checked(value)
            elif field.evaluate("field => field.tagName") == "SELECT":
                field.select_option(label=value)
            else:
                field.fill(str(value))

    def find_field(self, label: str):
        pattern = re.compile(rf"^\s*{re.escape(label)}\s*\*?\s*$")
        return self.main.get_by_label(pattern).first

    def choose(self, term: str) -> None:
        """Search the row that the only search field of a form names."""
        self.main.locator(".select2-selection").click()
        self.page.fill(".select2-search__field", term)
        self.page.click(f".select2-results__option:has-text('{term}')")

    def search(self, term: str, expected: str):
        """Type into the command palette; returns its results once one is there."""
        self.page.keyboard.press("Control+k")
        field = self.page.locator("#search-input-command:focus")
        field.press_sequentially(term)
        found = self.page.locator("#command-results")
        found.get_by_role("link", name=expected).wait_for()
        return found

    def copy(self, name: str) -> str:
        """Click a button that copies; returns what is in the clipboard."""
        self.click_count += 1
        button = self.find("button", name).first.element_handle()
        button.click()
        self.page.wait_for_function("button => button.innerText === 'Copied'", arg=button)
        return self.page.evaluate("navigator.clipboard.readText()")

    def check_page(self) -> None:
        """Record what does not fit the width and what violates a rule of axe."""
        path = urlsplit(self.page.url)
        kind = re.sub(r"/\d+/", "/N/", path.path)
        if (overflow := self.page.evaluate(OVERFLOW)) > 0:
            self.errors.append(f"{kind} is {overflow} pixels too wide")
        if self.checked_pages is None or kind in self.checked_pages:
            return
        self.checked_pages.add(kind)
        self.page.evaluate(AXE_SCRIPT)
        self.page.wait_for_function(ANIMATIONS_FINISHED)
        violations = self.page.evaluate(RUN_AXE_SCRIPT)
        self.errors += [f"{kind}: {violation}" for violation in violations]
