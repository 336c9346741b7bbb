"""Every path of the API, in the order of the contract's index."""

from django.urls import path

from affiliate_site.api.resources.affiliates import AffiliateViewSet
from affiliate_site.api.resources.balances import BalanceViewSet
from affiliate_site.api.resources.clicks import ClickViewSet
from affiliate_site.api.resources.commissions import CommissionViewSet
from affiliate_site.api.resources.conversions import (
    AddedCommissionViewSet,
    ConversionViewSet,
)
from affiliate_site.api.resources.customers import CustomerViewSet
from affiliate_site.api.resources.enrolments import EnrolmentViewSet, MembershipViewSet
from affiliate_site.api.resources.groups import GroupViewSet
from affiliate_site.api.resources.meta_data import (
    AffiliateMetaDataViewSet,
    ConversionMetaDataViewSet,
    CustomerMetaDataViewSet,
)
from affiliate_site.api.resources.notes import NoteViewSet
from affiliate_site.api.resources.payments import PaymentViewSet
from affiliate_site.api.resources.payout_methods import PayoutMethodViewSet
from affiliate_site.api.resources.placement import PlacementViewSet
from affiliate_site.api.resources.programs import ProgramViewSet
from affiliate_site.api.resources.prospects import ProspectViewSet
from affiliate_site.api.resources.rewards import RewardViewSet

LIST: dict = {"get": "list"}
COLLECTION: dict = {"get": "list", "post": "create"}
CHANGEABLE: dict = {"get": "retrieve", "patch": "partial_update"}
ITEM: dict = {**CHANGEABLE, "delete": "destroy"}
WHOLE: dict = {"get": "retrieve", "put": "replace", "post": "replace"}
ONE_KEY: dict = {"get": "retrieve_key", "put": "set_key", "delete": "forget_key"}
APPROVAL: dict = {"put": "approve", "delete": "disapprove"}
GROUP: dict = {"put": "put_into_group", "delete": "take_out_of_group"}
PARENT: dict = {"put": "put_below", "post": "put_below", "delete": "set_free"}

customer = "customers/<str:customer_id>/"
conversion = "conversions/<str:conversion_id>/"
commission = "commissions/<str:commission_id>/"
affiliate = "affiliates/<str:affiliate_id>/"
program = "programs/<str:program_id>/"
enrolled = f"{program}affiliates/"
one_enrolled = f"{enrolled}<str:affiliate_id>/"

META_DATA = {
    "customers": CustomerMetaDataViewSet,
    "conversions": ConversionMetaDataViewSet,
    "affiliates": AffiliateMetaDataViewSet,
}

urlpatterns = [
    path("customers/", CustomerViewSet.as_view(COLLECTION)),
    path(customer, CustomerViewSet.as_view(ITEM)),
    path(
        f"{customer}status/",
        CustomerViewSet.as_view({"put": "restore", "delete": "cancel"}),
    ),
    *(
        path(f"{things}/<str:row_id>/meta-data/", viewset.as_view(WHOLE))
        for things, viewset in META_DATA.items()
    ),
    *(
        path(f"{things}/<str:row_id>/meta-data/<str:key>/", viewset.as_view(ONE_KEY))
        for things, viewset in META_DATA.items()
    ),
    path("conversions/", ConversionViewSet.as_view(COLLECTION)),
    path(conversion, ConversionViewSet.as_view(ITEM)),
    path(
        f"{conversion}commissions/", AddedCommissionViewSet.as_view({"post": "create"})
    ),
    path("commissions/", CommissionViewSet.as_view(LIST)),
    path(commission, CommissionViewSet.as_view(CHANGEABLE)),
    path(f"{commission}approved/", CommissionViewSet.as_view(APPROVAL)),
    path(f"{commission}approval/", CommissionViewSet.as_view(APPROVAL)),
    path("affiliates/", AffiliateViewSet.as_view(COLLECTION)),
    path(
        "affiliates/custom-fields/",
        AffiliateViewSet.as_view({"get": "list_custom_fields"}),
    ),
    path(affiliate, AffiliateViewSet.as_view(ITEM)),
    path(f"{affiliate}group/", PlacementViewSet.as_view(GROUP)),
    path(f"{affiliate}parent/", PlacementViewSet.as_view(PARENT)),
    path(f"{affiliate}notes/", NoteViewSet.as_view(COLLECTION)),
    path(
        f"{affiliate}notes/<str:note_id>/",
        NoteViewSet.as_view({**ITEM, "put": "partial_update"}),
    ),
    path(f"{affiliate}payout-methods/", PayoutMethodViewSet.as_view(LIST)),
    path(
        f"{affiliate}payout-methods/<str:method>/",
        PayoutMethodViewSet.as_view({"get": "retrieve", "put": "update"}),
    ),
    path(f"{affiliate}balances/", BalanceViewSet.as_view({"get": "retrieve"})),
    path(f"{affiliate}payments/", PaymentViewSet.as_view({"get": "list_of_affiliate"})),
    path(f"{affiliate}programs/", MembershipViewSet.as_view(LIST)),
    path("affiliate-groups/", GroupViewSet.as_view(COLLECTION)),
    path("affiliate-groups/<str:group_id>/", GroupViewSet.as_view(CHANGEABLE)),
    path("affiliate-prospects/", ProspectViewSet.as_view(COLLECTION)),
    path(
        "affiliate-prospects/<str:prospect_id>/",
        ProspectViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
    path("programs/", ProgramViewSet.as_view(LIST)),
    path(program, ProgramViewSet.as_view({"get": "retrieve"})),
    path(enrolled, EnrolmentViewSet.as_view(COLLECTION)),
    path(one_enrolled, EnrolmentViewSet.as_view(CHANGEABLE)),
    path(f"{one_enrolled}approved/", EnrolmentViewSet.as_view(APPROVAL)),
    path(f"{one_enrolled}approval/", EnrolmentViewSet.as_view(APPROVAL)),
    path(
        f"{program}commission-types/",
        RewardViewSet.as_view({"get": "list_commission_types"}),
    ),
    path(f"{program}levels/", RewardViewSet.as_view({"get": "list_levels"})),
    path(f"{program}bonuses/", RewardViewSet.as_view({"get": "list_bonuses"})),
    path("clicks/", ClickViewSet.as_view(COLLECTION)),
    path("clicks/<str:click_id>/", ClickViewSet.as_view({"get": "retrieve"})),
    path("balances/", BalanceViewSet.as_view(LIST)),
    path("payments/", PaymentViewSet.as_view(COLLECTION)),
    path(
        "payments/<str:payment_id>/",
        PaymentViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
]
