"""Pages that export and erase the personal data of a person, for owners."""

from accounts.exact_json import serialize_exact_json
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_totals
from affiliate_site.downloads import send_file
from affiliate_site.privacy.person_export import export_person
from payouts.services.erasure import erase_person
from payouts.services.payables import get_payable_balances
from tracking.models.affiliates import Affiliate
from tracking.models.customers import Customer
from tracking.models.prospects import Prospect
from tracking.services.erasure import get_erased_id

ERASED_TEXTS = {
    Affiliate: (
        "Erased: name, e-mail, address, company, custom fields, metadata, password,"
        " notes, payout methods, postbacks, coupons, comments on commissions, and the"
        " prospect that the affiliate was. The ID becomes {id} and referral codes are"
        " replaced, so links lead nowhere."
    ),
    Prospect: (
        "Erased: name, e-mail, address, company, custom fields and metadata, and those"
        " of the affiliate that the prospect became. Referral codes are replaced, so"
        " links lead nowhere."
    ),
    Customer: (
        "Erased: your ID of the customer, its metadata and that of its conversions, IP"
        " addresses, user agents, what its clicks say of it, and tracking IDs. Order"
        " IDs stay, because no order may count twice, unless they contain an e-mail"
        " address."
    ),
}


class PersonalDataPage(FormPage):
    """A page about the personal data of an affiliate, prospect or customer."""

    permission = "accounts.change_account"  # owners

    @classmethod
    def is_offered(cls, row):
        return True

    @property
    def identifier(self) -> str:
        """The ID by which the service finds the person."""
        row = self.row
        return row.slug if isinstance(row, Affiliate) else row.public_id

    def get_row_arguments(self):
        return {"identifier": self.identifier}

    def get_subject(self):
        return self.identifier


class ExportPersonPage(PersonalDataPage):
    """Download all that is kept about a person."""

    name = "export_person"
    title = "Export personal data"
    button = "Download JSON file"
    service = staticmethod(export_person)
    explanation = (
        "The file has everything that is kept about this person. Notes, comments and"
        " sales can tell something about others: read it before you hand it out."
    )

    def respond(self, form, result):
        """Send the file."""
        name = f"personal-data-{self.identifier}.json"
        return send_file(serialize_exact_json(result), name)


class ErasePersonPage(PersonalDataPage):
    """Erase a person, after a page that says what is erased and what stays."""

    name = "erase_person"
    title = button = "Erase personal data"
    service = staticmethod(erase_person)
    is_dangerous = True

    def get_explanation(self):
        row = self.row
        lines = [ERASED_TEXTS[type(row)].format(id=get_erased_id(row.pk))]
        lines.append(
            "Amounts and dates stay: conversions, commissions, payments and the ledger"
            " do not change. Webhooks that wait are sent without the erased data."
        )
        if row.deleted_at is None:
            lines.append(
                "It is removed first, as by the button Remove. To tell receivers of"
                " webhooks under the present ID, remove it, and erase it later."
            )
        if isinstance(row, Affiliate):
            lines += self.list_money_lines()
        lines.append(
            "This cannot be undone. What others wrote about the person elsewhere, such"
            " as in notes about somebody else, is not found."
        )
        return "\n".join(lines)

    def list_money_lines(self) -> list[str]:
        """What is still to be paid."""
        pk = self.row.pk
        balances = get_payable_balances(self.account, [pk]).get(pk)
        if not balances:
            return []
        return [
            f"Balance due: {format_totals(balances)}. It stays payable, but the payout"
            " methods are erased: pay first, or keep them elsewhere."
        ]

    def get_done_message(self, erasure):
        ids = ", ".join(erasure.ids)
        return f"Erased: {ids}. Keep this for the case that a backup is restored."


PERSONAL_DATA_PAGES = (ExportPersonPage, ErasePersonPage)
