"""The fields of payout methods, for staff and affiliates."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

DETAIL_TEXTS: dict[str, dict[str, Any]] = {
    "email": {"label": _("E-mail address of the account")},
    "recipient": {"label": _("Recipient ID"), "help_text": _("Instead of the address.")},
    "account_holder": {"label": _("Account holder")},
    "iban": {"label": "IBAN"},
    "bic": {"label": "BIC", "help_text": _("Within SEPA the IBAN is enough.")},
    "account_number": {"label": _("Account number")},
    "routing_number": {
        "label": _("Routing number"),
        "help_text": _("Or sort code, ABA number, bank code."),
    },
    "bank_name": {"label": _("Name of the bank")},
    "country": {"label": _("Country of the bank")},
}


class DetailField(forms.CharField):
    """A text as long as the API takes one; whether it is needed depends on the others."""

    def __init__(self, detail: str, **kwargs):
        super().__init__(required=False, max_length=255, **DETAIL_TEXTS[detail], **kwargs)
