"""Choose the code of the own links, once in each program."""

from django import forms
from django.core.validators import RegexValidator
from django.http import Http404
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.errors import DomainError
from affiliate_site.portal.access import build_url, portal_page, translate_error
from affiliate_site.portal.confirmations import show_form
from affiliate_site.portal.own_links import select_programs
from affiliate_site.portal.throttling import find_code_choice_limit
from tracking.services.enrollments import choose_code


class CodeForm(forms.Form):
    code = forms.CharField(
        label=gettext_lazy("Code"),
        min_length=3,
        max_length=32,
        widget=forms.TextInput({"autocomplete": "off", "autocapitalize": "none"}),
        validators=[
            RegexValidator(
                r"\A[A-Za-z0-9]+(-[A-Za-z0-9]+)*\Z",
                gettext_lazy("Use letters, digits and single dashes, such as mina-10."),
            )
        ],
        help_text=gettext_lazy("3 to 32 letters, digits and dashes, such as mina-10."),
    )


def can_choose_code(row) -> bool:
    """Whether the affiliate of a row of `select_programs` may choose its code."""
    return bool(row["approved"]) and row["code_chosen_at"] is None


@portal_page("GET", "HEAD", "POST")
def choose(request, program: str):
    """Choose the code of the links of a program."""
    affiliate = request.affiliate
    rows = select_programs(affiliate, "code_chosen_at")
    row = rows.filter(program__slug=program).first()
    if row is None or not can_choose_code(row):
        raise Http404
    form = CodeForm(request.POST or None, initial={"code": row["code__code"]})
    status = 200
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["code"] == row["code__code"]:
            form.add_error("code", _("This is your code already."))
        elif limit := find_code_choice_limit(affiliate):
            form.add_error(None, limit)
            status = 429
        else:
            code = form.cleaned_data["code"]
            at = timezone.now()
            try:
                choose_code(affiliate, program_slug=program, code=code, at=at)
            except DomainError as error:
                form.add_error("code", translate_error(error))
            else:
                return redirect(build_url(request.account, "links"))
    text = _(
        "Your links will end with this code. You can choose once; links that you have"
        " published before go on working."
    )
    title = _("Choose your code for {program}").format(program=row["program__title"])
    button = _("Use this code")
    return show_form(request, title, form, button, text=text, back="links", status=status)
