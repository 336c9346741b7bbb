"""Which mails an affiliate wants."""

from django import forms
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from affiliate_site.portal.access import build_url, portal_page
from affiliate_site.portal.confirmations import show_form
from tracking.models.portal import Notice
from tracking.services.portal_profiles import set_notices, wants_notice

LABELS = {
    Notice.APPROVED: gettext_lazy("A program accepted or refused me"),
    Notice.NEW_SALES: gettext_lazy("New sales, once a day"),
    Notice.PAID: gettext_lazy("A payment arrived"),
    Notice.NEW_CREATIVE: gettext_lazy("New creatives"),
    Notice.ANSWER: gettext_lazy("An answer to my message"),
}


class NoticesForm(forms.Form):
    """A switch for each kind of mail."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for kind, label in LABELS.items():
            self.fields[kind.value] = forms.BooleanField(label=label, required=False)


@portal_page("GET", "HEAD", "POST")
def notices(request):
    """Switch mails on and off."""
    affiliate = request.affiliate
    present = {kind.value: wants_notice(affiliate, kind) for kind in LABELS}
    is_sent = request.method == "POST"  # without an entry if all are off
    form = NoticesForm(request.POST if is_sent else None, initial=present)
    if is_sent and form.is_valid():
        set_notices(affiliate, form.cleaned_data)
        return redirect(f"{build_url(request.account, 'profile')}?saved=1")
    text = _(
        "You get mail about these things. Mail about your password, your e-mail address"
        " and your payout details comes in any case."
    )
    return show_form(request, _("Mails"), form, _("Save"), text=text, back="profile")
