"""Cells: how one value looks in a list, the same on every page."""

from functools import wraps

from accounts.exact_json import plain

NOTHING = "-"


def money(amount, currency: str) -> str:
    """`20.5 EUR`; a dash where there is none."""
    return NOTHING if amount is None else f"{plain(amount)} {currency}"


def sums(by_currency) -> str:
    """`249.9 EUR, 20 USD`; nought without any."""
    told = [f"{plain(it)} {currency}" for currency, it in sorted(by_currency.items())]
    return ", ".join(told) or "0"


def pairs(data) -> str:
    """A JSON object, a key a line."""
    return (
        "\n".join(f"{name}: {value}" for name, value in (data or {}).items()) or NOTHING
    )


def worked_out_once(show):
    """A cell that costs something: the theme asks for it several times."""
    kept = f"cell_{show.__name__}"

    @wraps(show)
    def cell(page, row):
        if kept not in vars(row):
            setattr(row, kept, show(page, row))
        return getattr(row, kept)

    return cell
