"""The settings of all watches on one page, and whether its user has mail about them."""

from typing import Any

from django import forms
from django.utils import timezone

from accounts.services.notifications import can_send_mail
from accounts.tenant_admin import get_user
from affiliate_site.backoffice.form_pages import SettingsPage
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.navigation import MenuEntry
from affiliate_site.backoffice.payouts.payment_mails_page import NO_MAIL_SERVER
from payouts.services.alerts import evaluate_watches, set_alert_mails, update_watches
from payouts.services.watches import WATCHES, WatchSetting, get_watch_settings


class WatchesForm(ServiceForm):
    """A switch for each watch, with its threshold."""

    mails_me = forms.BooleanField(
        label="Mail to me",
        required=False,
        help_text="What is found, in one mail a day at most. Each person chooses for themselves.",
    )

    def build_fields(self):
        fields: dict[str, forms.Field] = {}
        for name, watch in WATCHES.items():
            fields[name] = forms.BooleanField(
                label="On", required=False, help_text=watch.explanation
            )
            if watch.unit:
                fields[f"{name}_threshold"] = forms.IntegerField(
                    label="Threshold",
                    min_value=1,
                    max_value=watch.maximum,
                    help_text=f"In {watch.unit}.",
                )
        self.fieldsets = (
            ("Mail", ("mails_me",)),
            *(
                (watch.title, (name, *((f"{name}_threshold",) if watch.unit else ())))
                for name, watch in WATCHES.items()
            ),
        )
        return fields


class WatchesPage(SettingsPage):
    title = "Watches"
    url_name = "watches"
    menu = MenuEntry("Tracking", 95, "visibility", synonyms="alerts monitoring")
    permission = "payouts.change_alert"
    form_class = WatchesForm

    def list_alerts(self):
        return [] if can_send_mail() else [NO_MAIL_SERVER]

    def get_unlocked_initial(self, account):
        values: dict[str, Any] = {"mails_me": get_user(self.request).mails_alerts_since is not None}
        for name, setting in get_watch_settings(account).items():
            values[name] = setting["is_on"]
            if WATCHES[name].unit:
                values[f"{name}_threshold"] = setting["threshold"]
        return values

    def save(self, form, at):
        values = form.values
        set_alert_mails(get_user(self.request), is_on=values["mails_me"], at=at)
        settings: dict[str, WatchSetting] = {
            name: {"is_on": values[name], "threshold": values.get(f"{name}_threshold", 0)}
            for name in WATCHES
        }
        return update_watches(self.account, settings=settings, at=at)

    def respond(self, form, result):
        """Look at once what was set, after the transaction that locks the settings."""
        evaluate_watches(result, at=timezone.now())
        return super().respond(form, result)
