"""Check a link: what the answers to pages do not say, because they are the same for
everybody."""

import re

from django import forms

from accounts.errors import DomainError, get_error_code
from accounts.url_safety import read_parameters, split_url
from affiliate_site.backoffice.conversions.clicks import get_problem
from affiliate_site.backoffice.form_pages import FormPage
from affiliate_site.backoffice.formatters import format_datetime
from affiliate_site.backoffice.forms import ServiceForm
from affiliate_site.backoffice.object_pages import Section
from affiliate_site.shops.processing import rolled_back
from tracking.attribution import TrackingParameters
from tracking.models.programs import CODE_PARAMETERS
from tracking.services.clicks import Visit, record_page_click
from tracking.services.visitors import find_first_coupon

SHORT_LINK = re.compile(r"/r/([^/]{1,64})/([^/]{1,255})/?")
TRACKING_ID = re.compile(r"[0-9a-f]{32}")
NO_LINK = "This address has no parameters of a link: a page with it reports no visit."
TOO_OLD = "That is older than the cookie lifetime of {} days: it earns nothing."
OTHER_ACCOUNT = "This short link is of another account: {}."


def check(account, text: str, *, at) -> list[str]:
    """What a link, referral code, coupon or tracking ID is worth, in sentences."""
    if re.match("https?://", text):
        return check_link(account, text, at=at)
    if TRACKING_ID.fullmatch(text):
        return [check_visitor(account, text, at=at)]
    found = [check_visit(account, {"referral_code": text}, at=at)]
    if coupon := find_first_coupon(account, [text]):
        row = account.coupons.select_related("enrollment__affiliate").get(code=coupon)
        found.append(f"The coupon {coupon} is of {row.enrollment.affiliate}.")
    else:
        found.append("It is no coupon.")
    return found


def check_link(account, address: str, *, at) -> list[str]:
    """Whether a visit through a link counts, and for whom."""
    try:
        parts = split_url(address)
    except ValueError:
        return ["This is no address."]
    if short := SHORT_LINK.fullmatch(parts.path):
        if short[1] != account.slug:
            return [OTHER_ACCOUNT.format(short[1])]
        return [check_visit(account, {"referral_code": short[2]}, at=at)]
    query = read_parameters(address)
    names = [name for name in CODE_PARAMETERS if query.get(name)]
    if names:
        link_parameter = None if names[0] == "ref" else names[0]
        parameters = {"referral_code": query[names[0]]}
        return [check_visit(account, parameters, link_parameter, at=at)]
    if query.get("tap_a") and query.get("tap_s"):
        parameters = {"asset_id": query["tap_a"], "source_id": query["tap_s"]}
        return [check_visit(account, parameters, at=at)]
    return [NO_LINK]


def check_visit(account, parameters: dict, link_parameter=None, *, at) -> str:
    """Record a click, say for whom it is, and undo it."""
    visit = Visit(TrackingParameters(**parameters), link_parameter=link_parameter)
    with rolled_back():
        try:
            click = record_page_click(account, visit=visit, at=at)
        except DomainError as error:
            problem = get_problem(get_error_code(error))
            return f"A visit does not count. {problem.text}. {problem.hint}"
        person = click.affiliate or click.prospect
        return f"A visit counts for {person} in {click.program.title}."


def check_visitor(account, tracking_id: str, *, at) -> str:
    """Whose visit a tracking ID, as in the cookie, names."""
    visitors = account.visitors.select_related(
        "click__affiliate", "click__prospect", "click__program"
    )
    visitor = visitors.filter(tracking_id=tracking_id).first()
    if visitor is None:
        return (
            "This tracking ID names no visit of this account: its link was unknown, or"
            " the cookie is of another account."
        )
    click = visitor.click
    text = (
        f"This visitor came by a link of {click.affiliate or click.prospect} in"
        f" {click.program.title} at {format_datetime(click.created_at)}."
    )
    days = click.program.cookie_time
    if (at - click.created_at).days < days:
        return text
    return f"{text} {TOO_OLD.format(days)}"


class CheckLinkPage(FormPage):
    """Check a link, a code or a tracking ID."""

    name = "check"
    title = "Check a link"
    button = "Check"
    permission = "tracking.change_connection"
    explanation = (
        "Pages never get to know whether an account, a code or a visitor exists. Here"
        " you see it. Nothing is counted or changed."
    )
    leave_button = "Back"
    findings: tuple[str, ...] = ()

    class Form(ServiceForm):
        text = forms.CharField(
            label="Link, referral code, coupon or tracking ID",
            max_length=2048,
            help_text="The whole address of a page as visitors open it, or the value of the"
            " cookie tap_vid.",
        )

    def perform(self, form, at):
        return check(self.account, form.cleaned_data["text"].strip(), at=at)

    def respond(self, form, findings):
        """Show the form again, with what was found."""
        self.findings = tuple(findings)
        return self.render_to_response(self.get_context_data(form=form))

    def list_sections(self):
        return [Section("Result", notes=self.findings)] if self.findings else []
