"""The words that other systems write in cells and headers: tables of data."""

from collections.abc import Mapping
from typing import Any

from payouts.models.payments import PayoutMethodKind
from tracking.models.customers import CustomerStatus

LEAVE_OUT = "leave_out"  # an answer: the rows with this word are problems


def name_each(values: Mapping[Any, str]) -> dict[str, Any]:
    """Return the values by their words, which commas separate."""
    return {word: value for value, words in values.items() for word in words.split(", ")}


# By the types of columns: the words whose meaning is not asked about.
WORDS: dict[str, dict[str, Any]] = {
    "approval": name_each(
        {
            True: "approved, active, accepted, true, yes, 1, a",
            None: "pending, new, waiting, p",
            False: "disapproved, declined, rejected, blocked, d, inactive, disabled, false, no, 0",
        }
    ),
    "status": name_each(
        {
            "approved": "approved, due, unpaid, a",
            "pending": "pending, open, p",
            "disapproved": "disapproved, declined, rejected, denied, voided, d",
            "paid": "paid",
        }
    ),
    "paid": name_each(
        {
            True: "paid, true, yes, 1, p",
            False: "unpaid, not paid, false, no, 0, u, due, pending",
        }
    ),
    "payment_status": name_each(
        {
            True: "paid, completed, complete, sent, settled, succeeded, success, done,"
            " arrived, in transit",
            False: "canceled, cancelled, failed, returned, rejected, pending, draft, unpaid",
        }
    ),
    "row_kind": name_each({"sale": "sale, s, action, a, lead, recurring, u"}),
    "tier": {"1": 1},
    "customer_status": {value: value for value in CustomerStatus.values},
    "payout_method": {
        **{value: value for value in PayoutMethodKind.values},
        **{label.casefold(): value for value, label in PayoutMethodKind.choices},
    },
}
DECISIONS = {
    "approved": "Approved",
    "pending": "Pending",
    "disapproved": "Disapproved",
}
# What other words can mean, by the types of columns: one of `WORDS` and its label.
MEANINGS: dict[str, dict[str, str]] = {
    "approval": DECISIONS,
    "status": {"paid": "Paid", **DECISIONS},
    "paid": {"paid": "Paid", "unpaid": "Not paid"},
    "payment_status": {"paid": "Paid", "canceled": "Not paid: leave these rows out"},
    "row_kind": {"sale": "A sale"},
    "tier": {"1": "Sales of the affiliates themselves"},
    "customer_status": dict(CustomerStatus.choices),
    "payout_method": dict(PayoutMethodKind.choices),
}
# What is suggested for some of them.
SUGGESTIONS: dict[str, dict[str, str]] = {
    "status": name_each(
        {
            "paid": "bezahlt, ausgezahlt, ausbezahlt, payé, payée, versé, versée,"
            " pagado, pagada, settled, paid out",
            "approved": "freigegeben, genehmigt, bestätigt, fällig, validé, validée,"
            " approuvé, approuvée, dû, aprobado, aprobada, confirmado, confirmed,"
            " payable, earned, accepted",
            "pending": "offen, ausstehend, wartend, en attente, pendiente, hold,"
            " on hold, on_hold, waiting, new, processing",
            "disapproved": "storniert, abgelehnt, ungültig, annulé, annulée, refusé,"
            " refusée, remboursé, rechazado, rechazada, anulado, cancelado, void,"
            " refunded, canceled, cancelled, reversed, fraud",
        }
    ),
    "approval": name_each(
        {
            "approved": "freigegeben, genehmigt, aktiv, actif, active, approuvé,"
            " activo, aprobado, confirmed, enabled, ja, oui, sí",
            "pending": "offen, ausstehend, en attente, pendiente, invited,"
            " unconfirmed, applied, in review",
            "disapproved": "abgelehnt, gesperrt, inaktiv, refusé, bloqué, inactif,"
            " rechazado, bloqueado, inactivo, banned, archived, suspended, nein, non",
        }
    ),
    "payment_status": name_each(
        {
            "paid": "bezahlt, ausgezahlt, erledigt, payé, versé, pagado, completado",
            "canceled": "storniert, abgebrochen, offen, annulé, en attente, cancelado,"
            " pendiente, fallido",
        }
    ),
    "paid": name_each(
        {
            "paid": "bezahlt, ausgezahlt, ja, x, payé, payée, versé, oui, pagado, sí,"
            " settled, completed, y",
            "unpaid": "offen, nicht bezahlt, nein, impayé, non, en attente, impagado,"
            " pendiente, open, approved, processing, n",
        }
    ),
}
# Parts of headers that decide what is owed, paid or refused, without case and marks;
# those in `MONEY_NAMES` only as whole words.
MONEY_PARTS = (
    *("paid", "payout", "payment", "status", "approv", "void", "refund", "cancel"),
    *("reversed", "declined", "rejected", "settled", "transaction type"),
    *("bezahlt", "gezahlt", "auszahlung", "freigegeben", "genehmigt", "storn"),
    *("payé", "versé", "versement", "paiement", "statut", "approuv", "annul"),
    *("rembours", "pagad", "aprobad", "anulad", "reembols", "impayé"),
)
NOT_ABOUT_MONEY = ("paid to", "payout method", "payment method", "payment currency")
MONEY_NAMES = ("rtype", "tier", "state", "état", "estado", "zustand", "pago")
# The first cell of a line that sums up others.
TOTALS = frozenset(
    {
        *("total", "totals", "sum", "subtotal", "grand total", "summe", "gesamt"),
        *("gesamtsumme", "insgesamt", "zwischensumme", "somme", "totaux", "suma"),
        *("totales", "total général", "total general"),
    }
)
# How amounts are marked, and the currencies that are written so.
SIGNS = {
    "€": ("EUR",),
    "£": ("GBP",),
    "$": ("USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN"),
    "us$": ("USD",),
    "¥": ("JPY", "CNY"),
    "fr.": ("CHF",),
    "zł": ("PLN",),
    "kč": ("CZK",),
    "kr": ("SEK", "NOK", "DKK"),
    "kr.": ("SEK", "NOK", "DKK"),
    "₹": ("INR",),
}
MONTHS = name_each(
    {
        1: "jan, january, januar, jänner, janv, janvier, ene, enero",
        2: "feb, february, februar, févr, fév, février, febrero",
        3: "mar, march, märz, mär, mrz, mars, marzo",
        4: "apr, april, avr, avril, abr, abril",
        5: "may, mai, mayo",
        6: "jun, june, juni, juin, junio",
        7: "jul, july, juli, juil, juillet, julio",
        8: "aug, august, août, ago, agosto",
        9: "sep, sept, september, septembre, septiembre",
        10: "oct, october, okt, oktober, octobre, octubre",
        11: "nov, november, novembre, noviembre",
        12: "dec, december, dez, dezember, déc, décembre, dic, diciembre",
    }
)
