"""Paths of the API, in the order of docs/api-contract.md, appendix A."""

from django.urls import path

from affiliate_site.api.filters import BaseFilterSet
from affiliate_site.api.resources.affiliates import AffiliateViewSet
from affiliate_site.api.resources.balances import BalanceViewSet
from affiliate_site.api.resources.clicks import ClickViewSet
from affiliate_site.api.resources.commissions import CommissionViewSet
from affiliate_site.api.resources.conversions import (
    AddedCommissionViewSet,
    ConversionViewSet,
)
from affiliate_site.api.resources.customers import CustomerViewSet
from affiliate_site.api.resources.enrollments import (
    EnrolledProgramViewSet,
    EnrollmentViewSet,
)
from affiliate_site.api.resources.groups import AffiliateGroupViewSet
from affiliate_site.api.resources.hierarchy import HierarchyViewSet
from affiliate_site.api.resources.meta_data import (
    AffiliateMetaDataViewSet,
    ConversionMetaDataViewSet,
    CustomerMetaDataViewSet,
)
from affiliate_site.api.resources.notes import NoteViewSet
from affiliate_site.api.resources.payments import PaymentViewSet
from affiliate_site.api.resources.payout_methods import PayoutMethodViewSet
from affiliate_site.api.resources.programs import ProgramViewSet
from affiliate_site.api.resources.prospects import ProspectViewSet
from affiliate_site.api.resources.rewards import RewardViewSet

LIST_ACTIONS: dict = {"get": "list"}
COLLECTION_ACTIONS: dict = {"get": "list", "post": "create"}
RETRIEVE_UPDATE_ACTIONS: dict = {"get": "retrieve", "patch": "partial_update"}
DETAIL_ACTIONS: dict = {**RETRIEVE_UPDATE_ACTIONS, "delete": "destroy"}
META_DATA_ACTIONS: dict = {"get": "retrieve", "put": "replace", "post": "replace"}
META_DATA_KEY_ACTIONS: dict = {
    "get": "retrieve_key",
    "put": "set_key",
    "delete": "delete_key",
}
APPROVAL_ACTIONS: dict = {"put": "approve", "delete": "disapprove"}
GROUP_ACTIONS: dict = {"put": "set_group", "delete": "remove_group"}
PARENT_ACTIONS: dict = {
    "put": "set_parent",
    "post": "set_parent",
    "delete": "remove_parent",
}

CUSTOMER_PATH = "customers/<str:customer_id>/"
CONVERSION_PATH = "conversions/<str:conversion_id>/"
COMMISSION_PATH = "commissions/<str:commission_id>/"
AFFILIATE_PATH = "affiliates/<str:affiliate_id>/"
PROGRAM_PATH = "programs/<str:program_id>/"
PROGRAM_AFFILIATES_PATH = f"{PROGRAM_PATH}affiliates/"
PROGRAM_AFFILIATE_PATH = f"{PROGRAM_AFFILIATES_PATH}<str:affiliate_id>/"

META_DATA_VIEWSETS = {
    "customers": CustomerMetaDataViewSet,
    "conversions": ConversionMetaDataViewSet,
    "affiliates": AffiliateMetaDataViewSet,
}

urlpatterns = [
    path("customers/", CustomerViewSet.as_view(COLLECTION_ACTIONS)),
    path(CUSTOMER_PATH, CustomerViewSet.as_view(DETAIL_ACTIONS)),
    path(
        f"{CUSTOMER_PATH}status/",
        CustomerViewSet.as_view({"put": "restore", "delete": "cancel"}),
    ),
    *(
        path(f"{resource}/<str:row_id>/meta-data/", viewset.as_view(META_DATA_ACTIONS))
        for resource, viewset in META_DATA_VIEWSETS.items()
    ),
    *(
        path(
            f"{resource}/<str:row_id>/meta-data/<str:key>/",
            viewset.as_view(META_DATA_KEY_ACTIONS),
        )
        for resource, viewset in META_DATA_VIEWSETS.items()
    ),
    path("conversions/", ConversionViewSet.as_view(COLLECTION_ACTIONS)),
    path(CONVERSION_PATH, ConversionViewSet.as_view(DETAIL_ACTIONS)),
    path(
        f"{CONVERSION_PATH}commissions/",
        AddedCommissionViewSet.as_view({"post": "create"}),
    ),
    path("commissions/", CommissionViewSet.as_view(LIST_ACTIONS)),
    path(COMMISSION_PATH, CommissionViewSet.as_view(RETRIEVE_UPDATE_ACTIONS)),
    path(f"{COMMISSION_PATH}approved/", CommissionViewSet.as_view(APPROVAL_ACTIONS)),
    path(f"{COMMISSION_PATH}approval/", CommissionViewSet.as_view(APPROVAL_ACTIONS)),
    path("affiliates/", AffiliateViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "affiliates/custom-fields/",
        AffiliateViewSet.as_view(
            {"get": "list_custom_fields"}, filterset_class=BaseFilterSet
        ),
    ),
    path(AFFILIATE_PATH, AffiliateViewSet.as_view(DETAIL_ACTIONS)),
    path(f"{AFFILIATE_PATH}group/", HierarchyViewSet.as_view(GROUP_ACTIONS)),
    path(f"{AFFILIATE_PATH}parent/", HierarchyViewSet.as_view(PARENT_ACTIONS)),
    path(f"{AFFILIATE_PATH}notes/", NoteViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        f"{AFFILIATE_PATH}notes/<str:note_id>/",
        NoteViewSet.as_view({**DETAIL_ACTIONS, "put": "partial_update"}),
    ),
    path(f"{AFFILIATE_PATH}payout-methods/", PayoutMethodViewSet.as_view(LIST_ACTIONS)),
    path(
        f"{AFFILIATE_PATH}payout-methods/<str:method>/",
        PayoutMethodViewSet.as_view({"get": "retrieve", "put": "update"}),
    ),
    path(f"{AFFILIATE_PATH}balances/", BalanceViewSet.as_view({"get": "retrieve"})),
    path(
        f"{AFFILIATE_PATH}payments/",
        PaymentViewSet.as_view(
            {"get": "list_by_affiliate"}, filterset_class=BaseFilterSet
        ),
    ),
    path(f"{AFFILIATE_PATH}programs/", EnrolledProgramViewSet.as_view(LIST_ACTIONS)),
    path("affiliate-groups/", AffiliateGroupViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "affiliate-groups/<str:group_id>/",
        AffiliateGroupViewSet.as_view(RETRIEVE_UPDATE_ACTIONS),
    ),
    path("affiliate-prospects/", ProspectViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "affiliate-prospects/<str:prospect_id>/",
        ProspectViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
    path("programs/", ProgramViewSet.as_view(LIST_ACTIONS)),
    path(PROGRAM_PATH, ProgramViewSet.as_view({"get": "retrieve"})),
    path(PROGRAM_AFFILIATES_PATH, EnrollmentViewSet.as_view(COLLECTION_ACTIONS)),
    path(PROGRAM_AFFILIATE_PATH, EnrollmentViewSet.as_view(RETRIEVE_UPDATE_ACTIONS)),
    path(
        f"{PROGRAM_AFFILIATE_PATH}approved/",
        EnrollmentViewSet.as_view(APPROVAL_ACTIONS),
    ),
    path(
        f"{PROGRAM_AFFILIATE_PATH}approval/",
        EnrollmentViewSet.as_view(APPROVAL_ACTIONS),
    ),
    path(
        f"{PROGRAM_PATH}commission-types/",
        RewardViewSet.as_view({"get": "list_commission_types"}),
    ),
    path(f"{PROGRAM_PATH}levels/", RewardViewSet.as_view({"get": "list_levels"})),
    path(f"{PROGRAM_PATH}bonuses/", RewardViewSet.as_view({"get": "list_bonuses"})),
    path("clicks/", ClickViewSet.as_view(COLLECTION_ACTIONS)),
    path("clicks/<str:click_id>/", ClickViewSet.as_view({"get": "retrieve"})),
    path("balances/", BalanceViewSet.as_view(LIST_ACTIONS)),
    path("payments/", PaymentViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "payments/<str:payment_id>/",
        PaymentViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
]
