"""The settings of mail about payments that have arrived."""

from django import forms
from django.db import transaction

from accounts.services.notifications import can_send_mail
from affiliate_site.backoffice.fields import MULTI_LINE
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.payouts.payer_settings_page import PayerSettingsPage
from payouts.services.mails import (
    DEFAULT_TEXTS,
    EXAMPLE,
    update_payment_mails,
    write_mail,
)
from payouts.services.payout_settings import get_payout_settings

NO_MAIL_SERVER = "No mail is sent until your operator sets EMAIL_URL and DEFAULT_FROM_EMAIL."


class PaymentMailsForm(ServiceForm):
    """Whether affiliates get mail, and what it says."""

    mails_payments = forms.BooleanField(
        label="Send mail",
        required=False,
        help_text=(
            "One mail when the results of a payout run say that a payment has arrived,"
            " to affiliates with an e-mail address. Not for earlier payments."
        ),
    )
    mail_subject = forms.CharField(label="Subject", max_length=200, required=False)
    mail_text = forms.CharField(
        label="Text",
        max_length=10_000,
        required=False,
        widget=MULTI_LINE({"rows": 14}),
        help_text=(
            "Plain text. {affiliate}, {account}, {amount}, {date} and {reference} are"
            " those of the payment. {opening}, {earned}, {paid} and {closing} are those"
            " of the statement of {from} to {to}: the month before and the days until"
            " the payment. Empty: the usual text."
        ),
    )

    fieldsets: FieldSets = (("Mail", ("mails_payments", "mail_subject", "mail_text")),)


class PaymentMailsPage(PayerSettingsPage):
    """Switch mail to paid affiliates on and off, and edit it with a preview."""

    template_name = "admin/payouts/payment_mails.html"
    title = "Mail to paid affiliates"
    url_name = "payment_mails"
    menu = MenuEntry("Payouts", 100, "mail")
    form_class: type[ServiceForm] = PaymentMailsForm

    def list_alerts(self):
        return [] if can_send_mail() else [NO_MAIL_SERVER]

    def get_unlocked_initial(self, account):
        values = super().get_unlocked_initial(account)
        defaults = {name: text for name, text in DEFAULT_TEXTS.items() if not values[name]}
        return values | defaults

    def save(self, form, at):
        settings = update_payment_mails(self.account, changes=form.values, at=at)
        if "_preview" in form.data:
            transaction.set_rollback(True)
        return settings

    def respond(self, form, settings):
        """Show what was entered as a mail, or say that it was saved."""
        if "_preview" not in form.data:
            return super().respond(form, settings)
        context = self.get_context_data(form=form)
        return self.render_to_response(context | build_preview(settings))

    def get_context_data(self, **kwargs):
        """Add a preview of what is stored, unless the form shows something else."""
        context = super().get_context_data(**kwargs)
        if context["errors"]:
            return context
        return context | build_preview(get_payout_settings(self.account))


def build_preview(settings) -> dict[str, str]:
    """The mail of an example, for the template."""
    subject, text = write_mail(settings, EXAMPLE)
    return {"mail_subject": subject, "mail_text": text}
