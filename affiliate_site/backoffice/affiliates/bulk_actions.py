"""Actions on selected affiliates: a group, a decision in a program, mail addresses."""

from django.contrib import messages
from django.template.response import TemplateResponse

from affiliate_site.backoffice.actions import (
    MAX_ROWS,
    AdminAction,
    bind_form,
    run_admin_action,
)
from affiliate_site.backoffice.affiliates.affiliate_pages import SetGroupPage
from affiliate_site.backoffice.affiliates.enrollment_pages import (
    ApproveEnrollmentPage,
    DisapproveEnrollmentPage,
)
from affiliate_site.backoffice.fields import ProgramField, RowChoiceField
from affiliate_site.backoffice.forms import ServiceForm
from tracking.services.enrollments import set_approval
from tracking.services.hierarchy import set_group


class GroupChoiceForm(ServiceForm):
    """The group to put affiliates into."""

    group = RowChoiceField("affiliate_groups")


class ProgramChoiceForm(ServiceForm):
    """The program in which affiliates are approved or disapproved."""

    program = ProgramField()


def put_into_group(model_admin, request, rows):
    """Put the selected affiliates into a group."""
    form, values = bind_form(GroupChoiceForm, request)
    group = values.get("group")

    def get_skip_reason(row):
        if row.deleted_at:
            return "removed"
        return "already in the group" if group and row.group_id == group.pk else ""

    admin_action = AdminAction(
        "Put affiliates into a group",
        perform=lambda row, at: set_group(
            row.account,
            affiliate_id=row.slug,
            group_id=values["group"].public_id,
            at=at,
        ),
        skip_reason=get_skip_reason,
        explanation=SetGroupPage.explanation,
        form=form,
    )
    return run_admin_action(model_admin, request, rows, admin_action)


def decide_in_program(model_admin, request, rows, *, approved: bool):
    """Approve or disapprove the selected affiliates in a program that they are in."""
    page = ApproveEnrollmentPage if approved else DisapproveEnrollmentPage
    form, values = bind_form(ProgramChoiceForm, request)
    program = values.get("program")
    enrollments = request.user.account.enrollments.filter(
        program=program, affiliate__in=rows.values("pk")
    )
    present = dict(enrollments.values_list("affiliate", "approved")) if program else {}

    def get_skip_reason(row):
        if row.deleted_at:
            return "removed"
        if program and row.pk not in present:
            return f"not in {program.title}: add the affiliate to it first"
        is_done = present.get(row.pk) is approved
        return f"already {page.title.lower()}d" if program and is_done else ""

    admin_action = AdminAction(
        f"{page.title} affiliates in a program",
        perform=lambda row, at: set_approval(
            row.account,
            program=values["program"],
            affiliate_id=row.slug,
            approved=approved,
            at=at,
        ),
        skip_reason=get_skip_reason,
        explanation=page.explanation,
        form=form,
    )
    return run_admin_action(model_admin, request, rows, admin_action)


def show_addresses(model_admin, request, rows):
    """Show the e-mail addresses of the selected affiliates, to be copied."""
    selected = list(rows.filter(deleted_at=None)[: MAX_ROWS + 1])
    if len(selected) > MAX_ROWS:
        text = f"Select at most {MAX_ROWS} rows."
        model_admin.message_user(request, text, level=messages.ERROR)
        return None
    addresses = [row.email for row in selected if row.email]
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": "Mail addresses",
        "addresses": addresses,
        "without": len(selected) - len(addresses),
        "back_url": request.get_full_path(),
    }
    template = "admin/affiliates/addresses.html"
    return TemplateResponse(request, template, context)
