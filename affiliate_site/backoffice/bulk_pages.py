"""Pages whose action staff also take on selected rows of a list."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from affiliate_site.backoffice.actions import AdminAction, bind_form, run_admin_action
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_affiliate
from affiliate_site.backoffice.forms import ServiceForm
from payouts.services.previews import BalanceEffect

BulkColumns = Sequence[tuple[str, Callable[[Any], object]]]
AFFILIATE_COLUMN: BulkColumns = (("Affiliate", lambda row: format_affiliate(row.affiliate)),)


class BulkPage(FormPage):
    """A form page that is also an action of the list: the same service, form and
    permission, for each selected row without a `get_skip_reason`.

    What only the action has begins with `bulk_`; `AdminAction` says what the attributes
    mean.
    """

    bulk_title = ""  # empty: no action
    bulk_label = ""  # in the menu of the list, by default the title of the page
    bulk_explanation = ""
    bulk_columns: BulkColumns = ()
    bulk_relations: tuple[str, ...] = ()  # that the columns need
    bulk_form_class: type[ServiceForm] | None = None  # by default that of the page
    amount_field = ""
    get_status: Callable[[Any], str] | None = None  # a staticmethod
    undo_action = ""
    undo_title = ""
    get_bulk_done_url: Callable[[datetime, datetime], str] | None = None  # a staticmethod

    @classmethod
    def find_obstacle(cls, row) -> str:
        """Why the row cannot be changed so; empty if it can."""
        return ""

    @classmethod
    def is_offered(cls, row):
        return super().is_offered(row) and not cls.find_obstacle(row)

    def get_skip_reason(self, row) -> str:
        """Why the action leaves out a selected row; empty if it does not."""
        return self.find_obstacle(row)

    @classmethod
    def can_undo(cls, row) -> bool:
        return True

    def select(self, rows):
        """The selected rows with what their columns need."""
        return rows.select_related(*self.bulk_relations) if self.bulk_relations else rows

    def list_columns(self) -> BulkColumns:
        return self.bulk_columns

    def list_bulk_alerts(self) -> list[str]:
        return []

    def list_balances(self, rows) -> Sequence[BalanceEffect]:
        """The balances that change."""
        return ()

    def perform_on(self, row, at: datetime) -> Any:
        self.row, self.account = row, row.account
        return self.change_row(at)

    def change_row(self, at: datetime) -> Any:
        """Call the service for one of the selected rows."""
        return self.call_service(self.form, at)

    def run_on(self, rows):
        """Show the confirmation page; once confirmed, change the rows."""
        self.rows = self.select(rows)
        self.form, _ = bind_form(self.bulk_form_class or self.form_class, self.request)
        admin_action = AdminAction(
            self.bulk_title,
            perform=self.perform_on,
            skip_reason=self.get_skip_reason,
            amount_field=self.amount_field,
            get_status=self.get_status,
            columns=self.list_columns(),
            explanation=self.bulk_explanation,
            alert=" ".join(self.list_bulk_alerts()),
            form=self.form if self.form.fields else None,
            get_balances=self.list_balances,
            undo_action=self.undo_action,
            undo_title=self.undo_title,
            can_undo=self.can_undo,
            get_done_url=self.get_bulk_done_url,
            is_dangerous=self.is_dangerous,
        )
        return run_admin_action(self.model_admin, self.request, self.rows, admin_action)


def build_actions(*pages: type[FormPage]) -> tuple[Callable[..., Any], ...]:
    """The `actions` of a list: those of its pages that are one, too."""
    return tuple(
        build_action(page) for page in pages if issubclass(page, BulkPage) and page.bulk_title
    )


def build_action(page: type[BulkPage]) -> Callable[..., Any]:
    """The action of a page; `ObjectPageMixin` offers it to those who may open the page."""

    def act(model_admin, request, rows):
        return page(model_admin=model_admin, request=request).run_on(rows)

    act.__name__ = f"{page.name}_selected"
    vars(act).update(short_description=page.bulk_label or page.title, page=page)
    return act
