"""People: affiliates, their places in programs, groups, prospects, notes."""

from datetime import timedelta

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import path
from django.utils import timezone

from affiliate_site.backoffice.actions import Deed, carry_out
from affiliate_site.backoffice.cells import NOTHING, pairs, sums, worked_out_once
from affiliate_site.backoffice.linking import file_of, told
from affiliate_site.backoffice.seam import ReadOnlyPage, action, display, register
from payouts.services.figures import Period, standings_of
from tracking.models.affiliates import Affiliate, AffiliateGroup, CustomField, Note
from tracking.models.enrolments import Enrolment
from tracking.models.prospects import Prospect
from tracking.services.enrolments import decide_on

DAYS = 30  # of the figures beside each affiliate, today included
PERSON = ("firstname", "lastname", "email")


@register(Affiliate)
class AffiliatePage(ReadOnlyPage):
    """Who sells; removed ones stay, with what they earned."""

    list_display = (
        "slug",
        "name",
        "email",
        "group",
        "status",
        "clicks",
        "sales",
        "revenue",
        "owed",
        "created_at",
    )
    list_select_related = ("group",)
    search_fields = ("slug__exact", "email_folded__exact")
    search_help_text = "An affiliate's id or e-mail address, whole"
    ordering = ("-created_at", "-id")
    exclude = ("password", "email_folded", "meta_data", "custom_fields")
    readonly_fields = ("links", "meta", "answers")

    class Media:
        js = ("backoffice/copy.js",)

    @worked_out_once
    def links(self, affiliate):
        """Those of every program, in one statement."""
        mine = affiliate.account.enrolments.filter(affiliate=affiliate)
        return told(mine.newest_first().as_linked())

    def complete(self, request, rows):
        """How each one does; to operators only the rows of one account are told."""
        at, accounts = timezone.now(), {it.account_id: it.account for it in rows}
        standings = {}
        if len(accounts) == 1:
            (account,) = accounts.values()
            period = Period(at.date() - timedelta(days=DAYS - 1), at.date())
            numbers = [it.pk for it in rows]
            standings = standings_of(account, numbers, period, at=at)
        for row in rows:
            row.standing = standings.get(row.pk)

    @display(description="Name")
    def name(self, affiliate):
        return f"{affiliate.firstname} {affiliate.lastname}".strip()

    def status(self, affiliate):
        """In how many programs, and how many wait for an answer."""
        if affiliate.removed_at:
            return f"removed on {affiliate.removed_at:%Y-%m-%d}"
        places = affiliate.standing.places if affiliate.standing else ()
        counts = [
            f"{places.count(answer)} {word}"
            for answer, word in ((True, "approved"), (None, "waiting"), (False, "no"))
            if answer in places
        ]
        return ", ".join(counts) or NOTHING

    @display(description=f"Clicks, {DAYS} days")
    def clicks(self, affiliate):
        return affiliate.standing.clicked if affiliate.standing else NOTHING

    @display(description=f"Sales, {DAYS} days")
    def sales(self, affiliate):
        return affiliate.standing.sold if affiliate.standing else NOTHING

    @display(description=f"Revenue, {DAYS} days")
    def revenue(self, affiliate):
        return sums(affiliate.standing.revenue) if affiliate.standing else NOTHING

    @display(description="Owed now")
    def owed(self, affiliate):
        return sums(affiliate.standing.owed) if affiliate.standing else NOTHING

    @display(description="Meta data")
    def meta(self, affiliate):
        return pairs(affiliate.meta_data)

    @display(description="Custom fields")
    def answers(self, affiliate):
        return pairs(affiliate.custom_fields)


@register(Enrolment)
class EnrolmentPage(ReadOnlyPage):
    """Who is in which program, who applies, and the links of each."""

    list_display = ("affiliate", "program", "approved", "applied_at")
    list_select_related = ("affiliate", "program")
    list_filter = ("approved",)
    search_fields = ("affiliate__slug__exact", "affiliate__email_folded__exact")
    ordering = ("-applied_at", "-id")
    readonly_fields = ("links", "coupon")
    actions = ("approve_chosen", "disapprove_chosen")

    class Media:
        js = ("backoffice/copy.js",)

    def get_queryset(self, request):
        joined = ("account", "affiliate", "program")
        return super().get_queryset(request).select_related(*joined)

    def get_urls(self):
        """The list's own addresses, and the QR codes to keep."""
        address = "<int:number>/qr/<slug:kind>.svg"
        view = self.admin_site.admin_view(self.qr_code)
        return [path(address, view, name="tracking_enrolment_qr"), *super().get_urls()]

    def qr_code(self, request, number, kind):
        """The QR code of one of a membership's links, as a file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).filter(pk=number).as_linked().first()
        if row is None:
            raise Http404
        return file_of(row, kind)

    @worked_out_once
    def links(self, enrolment):
        mine = enrolment.account.enrolments.filter(pk=enrolment.pk)
        return told(mine.as_linked())

    def coupon(self, enrolment):
        coupons = enrolment.account.coupons.filter(enrolment=enrolment)
        return ", ".join(it.code for it in coupons) or NOTHING

    def has_manage_permission(self, request):
        return request.user.has_perm("tracking.change_enrolment")

    @action(description="Approve", permissions=["manage"])
    def approve_chosen(self, request, rows):
        return self._decide(request, rows, "Approve affiliates", approved=True)

    @action(description="Disapprove", permissions=["manage"])
    def disapprove_chosen(self, request, rows):
        return self._decide(request, rows, "Disapprove affiliates", approved=False)

    def _decide(self, request, rows, title, *, approved):
        deed = Deed(
            title,
            does=lambda row, at: decide_on(
                row.account,
                program=row.program,
                affiliate_id=row.affiliate.slug,
                approved=approved,
                at=at,
            ),
            leaves=lambda row: "it is so already" if row.approved is approved else "",
        )
        return carry_out(self, request, rows, deed)


@register(AffiliateGroup)
class GroupPage(ReadOnlyPage):
    """Affiliates who are paid by other rates."""

    list_display = ("title", "public_id", "created_at")
    search_fields = ("title__exact", "public_id__exact")
    ordering = ("title", "id")


@register(Prospect)
class ProspectPage(ReadOnlyPage):
    """Who may become an affiliate."""

    list_display = (*PERSON, "program", "signup_source", "created_at", "promoted_at")
    list_select_related = ("program",)
    list_filter = ("signup_source",)
    search_fields = ("public_id__exact", "email_folded__exact")
    ordering = ("-created_at", "-id")
    exclude = ("email_folded", "meta_data", "custom_fields")


@register(Note)
class NotePage(ReadOnlyPage):
    """What somebody wants to remember about an affiliate."""

    list_display = ("affiliate", "note", "created_at")
    list_select_related = ("affiliate",)
    search_fields = ("affiliate__slug__exact",)
    ordering = ("-created_at", "-id")


@register(CustomField)
class CustomFieldPage(ReadOnlyPage):
    """What the account asks its affiliates besides."""

    list_display = ("title", "slug", "type", "required")
    ordering = ("id",)
