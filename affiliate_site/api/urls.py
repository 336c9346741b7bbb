"""Paths of the API, in the order of tests/architecture/api_contract.py."""

from django.urls import include, path

from affiliate_site.api.filters import BaseFilterSet
from affiliate_site.api.resources.affiliates import AffiliateViewSet
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
from affiliate_site.api.resources.payments import BalanceViewSet, PaymentViewSet
from affiliate_site.api.resources.payout_methods import PayoutMethodViewSet
from affiliate_site.api.resources.programs import ProgramViewSet, RewardViewSet
from affiliate_site.api.resources.prospects import ProspectViewSet
from affiliate_site.api.resources.reports import ReportViewSet

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


def list_meta_data_urls(viewset) -> list:
    """Return the paths of the meta data of one kind of rows."""
    return [
        path("<str:row_id>/meta-data/", viewset.as_view(META_DATA_ACTIONS)),
        path("<str:row_id>/meta-data/<str:key>/", viewset.as_view(META_DATA_KEY_ACTIONS)),
    ]


CUSTOMER_URLS = [
    path("", CustomerViewSet.as_view(COLLECTION_ACTIONS)),
    path("<str:customer_id>/", CustomerViewSet.as_view(DETAIL_ACTIONS)),
    path(
        "<str:customer_id>/status/",
        CustomerViewSet.as_view({"put": "restore", "delete": "cancel"}),
    ),
    *list_meta_data_urls(CustomerMetaDataViewSet),
]
CONVERSION_URLS = [
    path("", ConversionViewSet.as_view(COLLECTION_ACTIONS)),
    path("<str:conversion_id>/", ConversionViewSet.as_view(DETAIL_ACTIONS)),
    path(
        "<str:conversion_id>/commissions/",
        AddedCommissionViewSet.as_view({"post": "create"}),
    ),
    *list_meta_data_urls(ConversionMetaDataViewSet),
]
COMMISSION_URLS = [
    path("", CommissionViewSet.as_view(LIST_ACTIONS)),
    path("<str:commission_id>/", CommissionViewSet.as_view(RETRIEVE_UPDATE_ACTIONS)),
    path("<str:commission_id>/approved/", CommissionViewSet.as_view(APPROVAL_ACTIONS)),
    path("<str:commission_id>/approval/", CommissionViewSet.as_view(APPROVAL_ACTIONS)),
]
AFFILIATE_PATH = "<str:affiliate_id>/"
AFFILIATE_URLS = [
    path("", AffiliateViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "custom-fields/",
        AffiliateViewSet.as_view({"get": "list_custom_fields"}, filterset_class=BaseFilterSet),
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
        PaymentViewSet.as_view({"get": "list_by_affiliate"}, filterset_class=BaseFilterSet),
    ),
    path(f"{AFFILIATE_PATH}programs/", EnrolledProgramViewSet.as_view(LIST_ACTIONS)),
    *list_meta_data_urls(AffiliateMetaDataViewSet),
]
AFFILIATE_GROUP_URLS = [
    path("", AffiliateGroupViewSet.as_view(COLLECTION_ACTIONS)),
    path("<str:group_id>/", AffiliateGroupViewSet.as_view(RETRIEVE_UPDATE_ACTIONS)),
]
PROSPECT_URLS = [
    path("", ProspectViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "<str:prospect_id>/",
        ProspectViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
]
PROGRAM_PATH = "<str:program_id>/"
ENROLLMENT_PATH = f"{PROGRAM_PATH}affiliates/<str:affiliate_id>/"
PROGRAM_URLS = [
    path("", ProgramViewSet.as_view(LIST_ACTIONS)),
    path(PROGRAM_PATH, ProgramViewSet.as_view({"get": "retrieve"})),
    path(f"{PROGRAM_PATH}affiliates/", EnrollmentViewSet.as_view(COLLECTION_ACTIONS)),
    path(ENROLLMENT_PATH, EnrollmentViewSet.as_view(RETRIEVE_UPDATE_ACTIONS)),
    path(f"{ENROLLMENT_PATH}approved/", EnrollmentViewSet.as_view(APPROVAL_ACTIONS)),
    path(f"{ENROLLMENT_PATH}approval/", EnrollmentViewSet.as_view(APPROVAL_ACTIONS)),
    path(
        f"{PROGRAM_PATH}commission-types/",
        RewardViewSet.as_view({"get": "list_commission_types"}),
    ),
    path(f"{PROGRAM_PATH}levels/", RewardViewSet.as_view({"get": "list_levels"})),
    path(f"{PROGRAM_PATH}bonuses/", RewardViewSet.as_view({"get": "list_bonuses"})),
]
CLICK_URLS = [
    path("", ClickViewSet.as_view(COLLECTION_ACTIONS)),
    path("<str:click_id>/", ClickViewSet.as_view({"get": "retrieve"})),
]
BALANCE_URLS = [path("", BalanceViewSet.as_view(LIST_ACTIONS))]
PAYMENT_URLS = [
    path("", PaymentViewSet.as_view(COLLECTION_ACTIONS)),
    path(
        "<str:payment_id>/",
        PaymentViewSet.as_view({"get": "retrieve", "delete": "destroy"}),
    ),
]
REPORT_URLS = [path("", ReportViewSet.as_view({"get": "build"}))]

# Django tries the patterns of a list in turn: eleven here instead of all at once.
urlpatterns = [
    path("customers/", include(CUSTOMER_URLS)),
    path("conversions/", include(CONVERSION_URLS)),
    path("commissions/", include(COMMISSION_URLS)),
    path("affiliates/", include(AFFILIATE_URLS)),
    path("affiliate-groups/", include(AFFILIATE_GROUP_URLS)),
    path("affiliate-prospects/", include(PROSPECT_URLS)),
    path("programs/", include(PROGRAM_URLS)),
    path("clicks/", include(CLICK_URLS)),
    path("balances/", include(BALANCE_URLS)),
    path("payments/", include(PAYMENT_URLS)),
    path("reports/", include(REPORT_URLS)),
]
