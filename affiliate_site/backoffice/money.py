"""Money: balances to pay, payments to cancel, and the ledger, which is only read."""

from django.core.exceptions import PermissionDenied
from django.urls import path

from affiliate_site.backoffice.actions import Deed, carry_out
from affiliate_site.backoffice.cells import NOTHING, money
from affiliate_site.backoffice.paying import pay_many
from affiliate_site.backoffice.seam import ReadOnlyPage, action, display, register
from payouts.models.ledger import LedgerAccount, Place, Transfer
from payouts.models.payments import Payment, PayoutMethod
from payouts.services.payments import Order, cancel_payment, pay

PAY_MANY = "Pay by a minimum and a last day"


@register(LedgerAccount)
class BalancePage(ReadOnlyPage):
    """What each affiliate is owed now, per currency; paid here, many at once."""

    list_display = ("affiliate", "owed", "currency")
    list_select_related = ("affiliate",)
    search_fields = ("affiliate__slug__exact",)
    lookups = ("balance__gt",)
    ordering = ("-balance", "id")
    exclude = ("balance",)
    readonly_fields = ("owed",)
    actions = ("pay_chosen",)

    def get_queryset(self, request):
        return super().get_queryset(request).filter(kind=Place.PAYABLE)

    def get_urls(self):
        """The list's own addresses, and the page that pays many."""
        view = self.admin_site.admin_view(self.pay_many)
        return [path("pay/", view, name="pay_many"), *super().get_urls()]

    def changelist_view(self, request, extra_context=None):
        """The way to that page, for whoever may pay."""
        ways = [(PAY_MANY, "pay/")] if self.may_pay_many(request) else []
        return super().changelist_view(request, {"ways": ways, **(extra_context or {})})

    def may_pay_many(self, request):
        """Operators belong to no account whose affiliates they could pay."""
        return self.has_pay_permission(request) and request.user.account is not None

    def pay_many(self, request):
        """Affiliates by a minimum and a last day."""
        if not self.may_pay_many(request):
            raise PermissionDenied
        return pay_many(self, request)

    @display(description="Owed", ordering="balance")
    def owed(self, place):
        return money(place.balance, place.currency)

    def has_pay_permission(self, request):
        return request.user.has_perm("payouts.add_payment")

    @action(description="Pay in full", permissions=["pay"])
    def pay_chosen(self, request, rows):
        def left(row):
            return "" if row.balance and row.balance > 0 else "nothing is owed"

        def give(row, at):
            owed = row.balance
            order = Order(row.affiliate.slug, owed, row.currency, owed=owed)
            return pay(row.account, orders=[order], at=at)

        deed = Deed("Pay affiliates", does=give, leaves=left, amount="balance")
        return carry_out(self, request, rows.select_related("affiliate"), deed)


@register(Payment)
class PaymentPage(ReadOnlyPage):
    """What was paid; a canceled payment stays, and its amount is owed again."""

    list_display = ("public_id", "affiliate", "paid", "created_at", "canceled_at")
    list_select_related = ("affiliate",)
    search_fields = ("public_id__exact", "affiliate__slug__exact")
    lookups = ("canceled_at__isnull",)
    ordering = ("-created_at", "-id")
    exclude = ("amount",)
    readonly_fields = ("paid",)
    actions = ("cancel_chosen",)

    @display(description="Amount")
    def paid(self, payment):
        return money(payment.amount, payment.currency)

    def has_cancel_permission(self, request):
        return request.user.has_perm("payouts.delete_payment")

    @action(description="Cancel", permissions=["cancel"])
    def cancel_chosen(self, request, rows):
        deed = Deed(
            "Cancel payments",
            does=lambda row, at: cancel_payment(
                row.account, payment_id=row.public_id, at=at
            ),
            leaves=lambda row: "it is canceled already" if row.canceled_at else "",
            amount="amount",
        )
        return carry_out(self, request, rows, deed)


@register(PayoutMethod)
class PayoutMethodPage(ReadOnlyPage):
    """How affiliates want to be paid."""

    list_display = ("affiliate", "kind", "is_primary")
    list_select_related = ("affiliate",)
    list_filter = ("kind",)
    search_fields = ("affiliate__slug__exact",)
    ordering = ("-id",)


@register(Transfer)
class TransferPage(ReadOnlyPage):
    """Each amount that moved, from where to where, and why. It only grows."""

    list_display = ("id", "kind", "moved", "debit", "credit", "cause", "created_at")
    list_select_related = ("debit", "credit", "commission", "payment")
    list_filter = ("kind",)
    ordering = ("-id",)
    exclude = ("amount",)
    readonly_fields = ("moved",)

    @display(description="Amount")
    def moved(self, transfer):
        return money(transfer.amount, transfer.currency)

    def cause(self, transfer):
        return transfer.payment or f"commission {transfer.commission_id or NOTHING}"
