"""Every path of the API, in the order of the contract's index."""

from django.urls import path

from affiliate_site.api.resources.affiliates import AffiliateViewSet
from affiliate_site.api.resources.balances import BalanceViewSet
from affiliate_site.api.resources.clicks import ClickViewSet
from affiliate_site.api.resources.commissions import CommissionViewSet
from affiliate_site.api.resources.conversions import ConversionViewSet
from affiliate_site.api.resources.customers import CustomerViewSet
from affiliate_site.api.resources.enrolments import EnrolmentViewSet
from affiliate_site.api.resources.meta_data import CustomerMetaDataViewSet
from affiliate_site.api.resources.programs import ProgramViewSet

WHOLE: dict = {"get": "retrieve", "put": "replace", "post": "replace"}
ONE_KEY: dict = {"get": "retrieve_key", "put": "set_key", "delete": "forget_key"}
APPROVAL: dict = {"put": "approve", "delete": "disapprove"}

commission = "commissions/<str:commission_id>/"
customer = "customers/<str:customer_id>/"
enrolled = "programs/<str:program_id>/affiliates/"
one_enrolled = f"{enrolled}<str:affiliate_id>/"

urlpatterns = [
    path("customers/", CustomerViewSet.as_view({"get": "list", "post": "create"})),
    path(
        customer,
        CustomerViewSet.as_view(
            {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
        ),
    ),
    path(
        f"{customer}status/",
        CustomerViewSet.as_view({"put": "restore", "delete": "cancel"}),
    ),
    path("customers/<str:row_id>/meta-data/", CustomerMetaDataViewSet.as_view(WHOLE)),
    path(
        "customers/<str:row_id>/meta-data/<str:key>/",
        CustomerMetaDataViewSet.as_view(ONE_KEY),
    ),
    path("conversions/", ConversionViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "conversions/<str:conversion_id>/",
        ConversionViewSet.as_view({"get": "retrieve"}),
    ),
    path("commissions/", CommissionViewSet.as_view({"get": "list"})),
    path(f"{commission}approved/", CommissionViewSet.as_view(APPROVAL)),
    path(f"{commission}approval/", CommissionViewSet.as_view(APPROVAL)),
    path("affiliates/", AffiliateViewSet.as_view({"get": "list", "post": "create"})),
    path(
        "affiliates/<str:affiliate_id>/", AffiliateViewSet.as_view({"get": "retrieve"})
    ),
    path(
        "affiliates/<str:affiliate_id>/balances/",
        BalanceViewSet.as_view({"get": "retrieve"}),
    ),
    path("programs/", ProgramViewSet.as_view({"get": "list"})),
    path("programs/<str:program_id>/", ProgramViewSet.as_view({"get": "retrieve"})),
    path(enrolled, EnrolmentViewSet.as_view({"get": "list", "post": "create"})),
    path(
        one_enrolled,
        EnrolmentViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
    ),
    path(f"{one_enrolled}approved/", EnrolmentViewSet.as_view(APPROVAL)),
    path(f"{one_enrolled}approval/", EnrolmentViewSet.as_view(APPROVAL)),
    path("clicks/", ClickViewSet.as_view({"get": "list", "post": "create"})),
    path("clicks/<str:click_id>/", ClickViewSet.as_view({"get": "retrieve"})),
    path("balances/", BalanceViewSet.as_view({"get": "list"})),
]
