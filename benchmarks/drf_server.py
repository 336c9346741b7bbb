"""A textbook DRF application over the same tables, for comparison.

Model instances, `ModelSerializer` and `ModelViewSet`; no balances, reasons, events,
limits or audit log.
"""

from decimal import Decimal
from uuid import uuid4

from django.db import transaction
from rest_framework import authentication, exceptions, routers, serializers, viewsets

from accounts.models.api_keys import ApiKey
from accounts.services.api_keys import calculate_digest
from benchmarks.operations import API
from payouts.models.commissions import Commission
from payouts.models.ledger import Transfer
from tracking.models.affiliates import Affiliate
from tracking.models.clicks import Click
from tracking.models.conversions import Conversion
from tracking.models.customers import Customer
from tracking.models.programs import Program
from tracking.models.prospects import Prospect


def save(row):
    """Insert a row as Django does, not by the project's own statement."""
    row.save(force_insert=True)
    return row


class KeyAuthentication(authentication.BaseAuthentication):
    """Finds the API key; `request.user` is its account."""

    def authenticate(self, request):
        digest = calculate_digest(request.headers.get("X-Api-Key", ""))
        keys = ApiKey.objects.select_related("account")
        key = keys.filter(digest=digest, revoked_at=None).first()
        if key is None:
            raise exceptions.AuthenticationFailed
        key.account.is_authenticated = True
        return key.account, key


class AffiliateSerializer(serializers.ModelSerializer):
    """An affiliate."""

    id = serializers.CharField(source="slug")

    class Meta:
        model = Affiliate
        fields = ("id", "firstname", "lastname")


class ProgramSerializer(serializers.ModelSerializer):
    """A program."""

    id = serializers.CharField(source="slug")

    class Meta:
        model = Program
        fields = ("id", "title", "currency")


class NestedClickSerializer(serializers.ModelSerializer):
    """A click of something else."""

    class Meta:
        model = Click
        fields = ("created_at", "referrer", "landing_page")


class NestedCustomerSerializer(serializers.ModelSerializer):
    """A customer of a conversion."""

    id = serializers.CharField(source="public_id")

    class Meta:
        model = Customer
        fields = ("id", "customer_id", "status")


class AttributedSerializer(serializers.ModelSerializer):
    """Finds the affiliate of the referral code that is sent."""

    referral_code = serializers.CharField(write_only=True)
    program = ProgramSerializer(read_only=True)
    affiliate = AffiliateSerializer(read_only=True)

    def validate(self, attrs):
        account = self.context["request"].user
        codes = account.referral_codes.select_related(
            "enrollment__program", "enrollment__affiliate"
        )
        code = codes.filter(code=attrs.pop("referral_code")).first()
        if code is None:
            raise serializers.ValidationError("Unknown referral code")
        program, affiliate = code.enrollment.program, code.enrollment.affiliate
        self.enrollment = code.enrollment
        return attrs | {"account": account, "program": program, "affiliate": affiliate}


class ClickSerializer(AttributedSerializer):
    """A click."""

    id = serializers.UUIDField(source="public_id", read_only=True)

    class Meta:
        model = Click
        fields = ("id", "referral_code", "landing_page", "program", "affiliate")

    def create(self, validated_data):
        return save(Click(enrollment=self.enrollment, **validated_data))


class CustomerSerializer(AttributedSerializer):
    """A customer."""

    id = serializers.CharField(source="public_id", read_only=True)
    click = NestedClickSerializer(read_only=True)

    class Meta:
        model = Customer
        fields = (
            "id",
            "customer_id",
            "referral_code",
            "status",
            "created_at",
            "click",
            "program",
            "affiliate",
            "meta_data",
            "warnings",
        )
        read_only_fields = ("status", "created_at", "meta_data", "warnings")

    def create(self, validated_data):
        names = {"public_id": uuid4().hex, "status": "new", "initial_status": "new"}
        return save(Customer(**names, **validated_data))


class CommissionSerializer(serializers.ModelSerializer):
    """A commission of a conversion."""

    affiliate = AffiliateSerializer(read_only=True)
    amount = serializers.DecimalField(max_digits=20, decimal_places=4)
    sub_amount = serializers.DecimalField(max_digits=20, decimal_places=4)

    class Meta:
        model = Commission
        fields = (
            "id",
            "sub_amount",
            "amount",
            "commission_type",
            "status",
            "affiliate",
            "kind",
            "currency",
            "created_at",
            "comment",
            "finalized_at",
            "name",
        )


class ConversionSerializer(AttributedSerializer):
    """A conversion with its commissions."""

    amount = serializers.DecimalField(max_digits=20, decimal_places=4)
    click = NestedClickSerializer(read_only=True)
    customer = NestedCustomerSerializer(read_only=True)
    commissions = CommissionSerializer(many=True, read_only=True)

    class Meta:
        model = Conversion
        fields = (
            "id",
            "external_id",
            "referral_code",
            "amount",
            "click",
            "commissions",
            "program",
            "affiliate",
            "customer",
            "meta_data",
            "created_at",
            "warnings",
            "tracking_source",
        )
        read_only_fields = ("meta_data", "created_at", "warnings", "tracking_source")

    @transaction.atomic
    def create(self, validated_data):
        conversion = save(Conversion(currency="EUR", tracking_source="click", **validated_data))
        account, affiliate = conversion.account, conversion.affiliate
        amount = (conversion.amount / 10).quantize(Decimal("0.01"))
        commission = save(
            Commission(
                account=account,
                conversion=conversion,
                affiliate=affiliate,
                commission_type="default",
                name="Default",
                currency="EUR",
                sub_amount=conversion.amount,
                amount=amount,
                rate_kind="percentage",
                rate=Decimal(10),
                calculation="{}",
                status="pending",
            )
        )
        books = account.ledger_accounts
        save(
            Transfer(
                account=account,
                currency="EUR",
                kind="earned",
                debit=books.get(kind="expense", currency="EUR"),
                credit=books.get(kind="pending", currency="EUR", affiliate=affiliate),
                amount=amount,
                commission=commission,
                sequence_number=1,
            )
        )
        return conversion


class ProspectSerializer(serializers.ModelSerializer):
    """A prospect with the parts of its link."""

    id = serializers.CharField(source="public_id")
    referral_codes = serializers.SlugRelatedField("code", many=True, read_only=True)
    sources = serializers.StringRelatedField(many=True)
    assets = serializers.StringRelatedField(many=True, source="program.assets")

    class Meta:
        model = Prospect
        fields = (
            "id",
            "firstname",
            "lastname",
            "email",
            "company_name",
            "company_description",
            "address",
            "address_two",
            "postal_code",
            "city",
            "state",
            "country",
            "created_at",
            "signup_source",
            "referral_codes",
            "sources",
            "assets",
        )


class AccountViewSet(viewsets.ModelViewSet):
    """A viewset over the rows of the key's account."""

    authentication_classes = (KeyAuthentication,)
    conditions: dict = {}

    def get_queryset(self):
        rows = self.queryset.filter(account=self.request.user, **self.conditions)
        return rows.order_by("-created_at", "-id")


class ClickViewSet(AccountViewSet):
    """Clicks."""

    queryset = Click.objects.select_related("program", "affiliate")
    serializer_class = ClickSerializer


class CustomerViewSet(AccountViewSet):
    """Customers."""

    queryset = Customer.objects.select_related("program", "affiliate", "click")
    serializer_class = CustomerSerializer
    conditions = {"deleted_at": None}
    lookup_field = "public_id"


class ConversionViewSet(AccountViewSet):
    """Conversions."""

    queryset = Conversion.objects.select_related(
        "program", "affiliate", "click", "customer"
    ).prefetch_related("commissions__affiliate")
    serializer_class = ConversionSerializer
    conditions = {"deleted_at": None}


class ProspectViewSet(AccountViewSet):
    """Prospects."""

    queryset = Prospect.objects.select_related("program").prefetch_related(
        "referral_codes", "sources", "program__assets"
    )
    serializer_class = ProspectSerializer
    conditions = {"deleted_at": None}


router = routers.SimpleRouter()
prefix = API.removeprefix("/")
router.register(f"{prefix}/clicks", ClickViewSet, basename="click")
router.register(f"{prefix}/customers", CustomerViewSet, basename="customer")
router.register(f"{prefix}/conversions", ConversionViewSet, basename="conversion")
router.register(f"{prefix}/affiliate-prospects", ProspectViewSet, basename="prospect")
urlpatterns = router.urls
