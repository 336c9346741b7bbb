"""The page on which owners choose the time zone of their account."""

from zoneinfo import available_timezones

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.errors import DomainError
from accounts.services.accounts import set_time_zone

CHANGE_PERMISSION = "accounts.change_account"


class TimeZoneForm(forms.Form):
    """A time zone by its IANA name; the browser suggests the known ones."""

    time_zone = forms.CharField(
        max_length=64,
        widget=forms.TextInput({"list": "time-zones", "autocomplete": "off"}),
    )


def can_change_time_zone(user) -> bool:
    """Owners of an account; operators have none."""
    return user.account_id is not None and user.has_perm(CHANGE_PERMISSION)


def time_zone_view(request):
    """Show the form; set the zone, or show the error beside the field."""
    if not can_change_time_zone(request.user):
        raise PermissionDenied
    account = request.user.account
    form = TimeZoneForm(request.POST or None, initial={"time_zone": account.time_zone})
    if form.is_valid():
        name = form.cleaned_data["time_zone"]
        try:
            set_time_zone(account, time_zone=name, at=timezone.now())
        except DomainError as error:
            form.add_error("time_zone", error.text)
        else:
            messages.success(request, f"Times are now shown in {name}.")
            return redirect("admin:index")
    context = {
        **admin.site.each_context(request),
        "title": "Time zone",
        "form": form,
        "time_zones": sorted(available_timezones()),
    }
    return TemplateResponse(request, "admin/time_zone.html", context)
