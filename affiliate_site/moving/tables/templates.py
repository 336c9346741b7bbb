"""Templates of tables: our columns with an example, and the account's custom fields."""

from accounts.models.accounts import Account
from affiliate_site.cells import render_csv
from affiliate_site.moving.tables.kinds import TableKind


def build_template(account: Account, kind: TableKind) -> str:
    """Return a CSV file with a header and a row of examples, to be replaced."""
    cells = {column.label: column.example for column in kind.columns}
    if "custom" in kind.prefixes:
        titles = account.field_definitions.order_by("pk").values_list("title", flat=True)
        cells |= {f"custom:{title}": "" for title in titles}
    return render_csv([cells, cells.values()])
