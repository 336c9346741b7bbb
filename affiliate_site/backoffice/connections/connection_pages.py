"""Connect a shop, set its secret, switch it, and say what counts."""

from typing import Any

from django import forms

from affiliate_site.backoffice.connections.catch_up_pages import (
    CatchUpPage,
    PromotionCodesPage,
    SourceKeyPage,
)
from affiliate_site.backoffice.connections.check_page import CheckLinkPage
from affiliate_site.backoffice.connections.details import (
    ANY_PROGRAM,
    MODE_TEXTS,
    format_rule,
    list_missing,
)
from affiliate_site.backoffice.connections.event_pages import TryEventPage
from affiliate_site.backoffice.connections.mapping_page import MappingPage
from affiliate_site.backoffice.fields import (
    MULTI_LINE,
    PASSWORD,
    KeyValueField,
    RowChoiceField,
)
from affiliate_site.backoffice.form_pages import AddPage, FormPage
from affiliate_site.backoffice.forms import FieldSets, ServiceForm
from affiliate_site.shops.kinds import SHOPS
from affiliate_site.shops.ready_made import READY_MADE, ReadyMade, build_settings
from tracking.models.shops import Connection, ConnectionKind, ConnectionMode
from tracking.services.connections import (
    MAX_PREFIX_LENGTH,
    REFERENCE_MAY_BE_CODE,
    SECRET_LENGTHS,
    create_connection,
    forget_earlier_secret,
    set_connection_secret,
    update_connection,
)

CHANGE = "tracking.change_connection"
RULE_SEPARATOR = "="
READY_MADE_SEPARATOR = ":"  # after the kind, before the name of a mapping
INCLUDES_GIFT_CARDS = "includes_gift_cards"
SWITCHES = (
    "includes_tax",
    "includes_shipping",
    INCLUDES_GIFT_CARDS,
    "stores_email",
    "takes_tests",
    REFERENCE_MAY_BE_CODE,
)
KINDS_WITH_GIFT_CARDS = (ConnectionKind.SHOPIFY, ConnectionKind.WOOCOMMERCE)
MAPS = ("commission_types", "coupons")


def list_kinds() -> list[tuple[str, str]]:
    """The kinds of shops that can be connected here, and ready-made mappings."""
    return [
        *(choice for choice in ConnectionKind.choices if choice[0] in SHOPS),
        *(
            (f"{ConnectionKind.OTHER}{READY_MADE_SEPARATOR}{name}", describe(each))
            for name, each in READY_MADE.items()
        ),
    ]


def describe(ready_made: ReadyMade) -> str:
    """A ready-made mapping, and how far it is known to be right."""
    return f"{ready_made.title} (mapping {ready_made.proof})"


class SecretField(forms.CharField):
    """The secret that a shop signs with, which is never shown again.

    Browsers would store a password as that of the user; `backoffice.css` hides it.
    """

    def __init__(self, **kwargs):
        super().__init__(
            label="Signing secret",
            max_length=SECRET_LENGTHS[1],
            widget=PASSWORD({"autocomplete": "off", "data-secret": ""}),
            **kwargs,
        )
        self.widget.input_type = "text"


def build_program_field() -> RowChoiceField:
    """The program whose sales a shop reports."""
    return RowChoiceField("programs", required=False, empty_label=ANY_PROGRAM)


def build_name_field(**kwargs) -> forms.CharField:
    """The name that staff give to a shop."""
    return forms.CharField(max_length=255, **kwargs)


class AddConnectionForm(ServiceForm):
    """The kind of a shop, and what is known of it at first."""

    kind = forms.ChoiceField(
        label="Shop",
        choices=list_kinds,
        help_text="A mapping says where events have what, and can be changed. A shop"
        " whose events only have an ID, as those of Mollie, cannot be connected: there"
        " is no amount in them, and anybody may send an ID. Your server reports such"
        " sales.",
    )
    name = build_name_field(required=False, help_text="If you have several of a kind.")
    program = build_program_field()
    secret = SecretField(
        required=False,
        help_text="Leave it empty if the shop shows it later: Stripe does so once it"
        " knows the address, which you get on the next page.",
    )
    mode = forms.ChoiceField(
        choices=[
            (mode, f"{mode.label}. {MODE_TEXTS[mode]}")
            for mode in (ConnectionMode.LISTEN, ConnectionMode.LIVE)
        ],
        help_text="Listen first: you see what would happen, and switch later.",
    )


class AddConnectionPage(AddPage):
    model = Connection
    title = button = "Connect a shop"
    explanation = (
        "The shop reports sales, renewals, refunds and disputes by itself. You need"
        " access to its settings; the next page says where to click."
    )
    form_class = AddConnectionForm
    service = staticmethod(create_connection)
    done_message = "The shop was added. Now give it the address below."

    def get_values(self, form):
        values = super().get_values(form)
        kind, _, name = values["kind"].partition(READY_MADE_SEPARATOR)
        if not name:
            return values
        return values | {
            "kind": kind,
            "name": values.get("name") or READY_MADE[name].title,
            "settings": build_settings(name),
        }


class ConnectionPage(FormPage):
    permission = CHANGE
    row_argument = ("connection_id", "public_id")


class SetSecretPage(ConnectionPage):
    name = "secret"
    title = "Set signing secret"
    explanation = (
        "What the shop sends is accepted if it is signed with this secret. It is not"
        " shown again. The one before stays valid until you forget it."
    )
    service = staticmethod(set_connection_secret)
    done_message = "The signing secret was set."

    class Form(ServiceForm):
        secret = SecretField(help_text="From the settings of webhooks in the shop.")


class ForgetSecretPage(ConnectionPage):
    """Accept the newest secret only."""

    name = "forget"
    title = button = "Forget the earlier secret"
    explanation = (
        "What is still signed with the earlier secret is refused from now on. Do this"
        " once the shop signs with the new one."
    )
    service = staticmethod(forget_earlier_secret)
    done_message = "Only the newest secret is valid now."

    @classmethod
    def is_offered(cls, connection):
        return len(connection.secrets) > 1


class ModePage(ConnectionPage):
    """Switch a shop to one of the modes."""

    mode: ConnectionMode
    service = staticmethod(update_connection)

    @classmethod
    def is_offered(cls, connection):
        return connection.mode != cls.mode

    def list_alerts(self):
        return list_missing(self.row) if self.mode != ConnectionMode.OFF else []

    def get_values(self, form):
        return {"changes": {"mode": self.mode}}

    def get_done_message(self, result):
        return f"{self.mode.label}. {MODE_TEXTS[self.mode]}"


class GoLivePage(ModePage):
    """Let events change sales."""

    name = "live"
    title = button = "Switch to live"
    mode = ConnectionMode.LIVE
    explanation = (
        "From now on the events of this shop create sales and customers. Refunds and"
        " disputes change commissions, also those that were paid. Events that were"
        " only stored so far stay as they are: process those again that should count."
    )


class ListenPage(ModePage):
    """Store events only."""

    name = "listen"
    title = button = "Listen only"
    mode = ConnectionMode.LISTEN
    explanation = (
        "Events are stored with what they would do. They change nothing, so refunds do"
        " not reduce commissions meanwhile."
    )


class SwitchOffPage(ModePage):
    """Refuse what the shop sends."""

    name = "off"
    title = button = "Switch off"
    mode = ConnectionMode.OFF
    is_dangerous = True
    explanation = (
        "What the shop sends is refused and not stored. Shops stop sending after a"
        " while. Sales and commissions stay as they are."
    )


class ShopSettingsForm(ServiceForm):
    """What counts, and how the shop's names are read."""

    name = build_name_field()
    program = build_program_field()
    programs = KeyValueField(
        label="Rules for the program",
        required=False,
        help_text="The first that fits decides. One per line, such as"
        " “currency = EUR: harbor-lamps” or “product = prod_1: harbor-lamps”; instead"
        " of them the name of metadata or an attribute. At the end the program's ID.",
    )
    id_prefix = forms.CharField(
        label="Prefix of IDs",
        required=False,
        max_length=MAX_PREFIX_LENGTH,
        help_text="Before the IDs of orders and customers, such as “de-”, if another"
        " of your shops has the same ones. Later changes make known customers new.",
    )
    includes_tax = forms.BooleanField(label="Tax earns, too", required=False)
    includes_shipping = forms.BooleanField(label="Shipping earns, too", required=False)
    includes_gift_cards = forms.BooleanField(
        label="Gift cards earn when they are bought",
        required=False,
        help_text="What a gift card pays earns nothing then, as far as the shop says"
        " how much that is. Otherwise it earns, and buying a gift card does not.",
    )
    commission_types = KeyValueField(
        label="Commission types of products",
        required=False,
        help_text="One per line: ID or SKU of a product, and the ID of a commission"
        " type, such as “prod_1: addon”. Others have the default.",
    )
    referral_fields = forms.CharField(
        label="Fields with a referral",
        required=False,
        widget=MULTI_LINE({"rows": 3}),
        help_text="Names of metadata or attributes that hold a click ID, tracking ID or"
        " referral code, one per line. tap_vid, ref and others are known.",
    )
    coupons = KeyValueField(
        label="Codes of the shop",
        required=False,
        help_text="Where they differ from the coupon of the affiliate. One per line,"
        " such as “SUMMER10: mina-10”.",
    )
    reference_may_be_code = forms.BooleanField(
        label="client_reference_id may be a referral code",
        required=False,
        help_text="Leave it off if your server puts its own IDs of customers there: one"
        " that happens to be a code would pay an affiliate. Click and tracking IDs"
        " always count.",
    )
    stores_email = forms.BooleanField(
        label="Keep e-mail addresses of customers",
        required=False,
        help_text="As metadata. Only the shop's ID is kept otherwise.",
    )
    takes_tests = forms.BooleanField(
        label="Test events count",
        required=False,
        help_text="Of the shop's test mode, when the connection is live.",
    )

    fieldsets: FieldSets = (
        (None, ("name", "program", "programs", "id_prefix")),
        (
            "What counts",
            (
                *("includes_tax", "includes_shipping", INCLUDES_GIFT_CARDS),
                "commission_types",
            ),
        ),
        ("Who is referred", ("referral_fields", "coupons", REFERENCE_MAY_BE_CODE)),
        ("Customers and tests", ("stores_email", "takes_tests")),
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.row.kind != ConnectionKind.STRIPE:
            del self.fields[REFERENCE_MAY_BE_CODE]
        if self.row.kind not in KINDS_WITH_GIFT_CARDS:
            del self.fields[INCLUDES_GIFT_CARDS]

    def get_fieldsets(self):
        return [
            (title, {"fields": [name for name in names if name in self.fields]})
            for title, names in self.fieldsets
        ]

    def clean_programs(self) -> list[dict[str, str]]:
        """The rules, whose programs exist."""
        rules = []
        for condition, slug in self.cleaned_data["programs"].items():
            name, separator, value = map(str.strip, condition.partition(RULE_SEPARATOR))
            if not name or not separator or not value:
                text = f"Write {condition[:80]} as field = value: program."
                raise forms.ValidationError(text)
            rules.append({"field": name, "value": value, "program": slug})
        slugs = {rule["program"] for rule in rules}
        ensure_known(self.account.programs, "slug", slugs, "program")
        return rules

    def clean_commission_types(self) -> dict[str, str]:
        """Commission types that a program has."""
        types = self.cleaned_data["commission_types"]
        rows = self.account.commission_types
        ensure_known(rows, "identifier", types.values(), "commission type")
        return types

    def clean_coupons(self) -> dict[str, str]:
        """Coupons that an affiliate has."""
        coupons = self.cleaned_data["coupons"]
        ensure_known(self.account.coupons, "code", coupons.values(), "coupon")
        return coupons

    def clean_referral_fields(self) -> list[str]:
        """The names, without repetition."""
        lines = self.cleaned_data["referral_fields"].splitlines()
        names = list(dict.fromkeys(line.strip() for line in lines if line.strip()))
        if any(len(name) > 255 or not name.isprintable() for name in names):
            raise forms.ValidationError("Write one name per line.")
        return names


def ensure_known(rows: Any, column: str, names, noun: str) -> None:
    """Raise `ValidationError` unless the account has rows with these names."""
    wanted = [name for name in dict.fromkeys(names) if len(name) <= 255]
    found = rows.filter(**{f"{column}__in": wanted}).values_list(column, flat=True)
    if unknown := [name for name in names if name not in set(found)]:
        raise forms.ValidationError(f"There is no {noun} {unknown[0][:80]}.")


class ShopSettingsPage(ConnectionPage):
    name = "settings"
    title = "Settings"
    explanation = (
        "This is for new orders: what earlier ones earn stays as it is. An event whose"
        " order has no sale yet can be processed again."
    )
    form_class = ShopSettingsForm
    done_message = "The settings were saved."
    service = staticmethod(update_connection)

    def get_unlocked_initial(self, connection):
        settings = connection.settings
        rules = [format_rule(rule) for rule in settings.get("programs", [])]
        return {
            "name": connection.name,
            "program": connection.program,
            "programs": dict(rule.rsplit(": ", 1) for rule in rules),
            "id_prefix": settings.get("id_prefix", ""),
            "referral_fields": "\n".join(settings.get("referral_fields", [])),
            **{name: settings.get(name, False) for name in SWITCHES},
            REFERENCE_MAY_BE_CODE: settings.get(REFERENCE_MAY_BE_CODE, True),
            **{name: settings.get(name, {}) for name in MAPS},
        }

    def get_values(self, form):
        values = dict(form.values)
        named = {name: values.pop(name) for name in ("name", "program")}
        return {"changes": named | {"settings": self.row.settings | values}}


CONNECTION_PAGES = (
    SetSecretPage,
    ForgetSecretPage,
    MappingPage,
    ShopSettingsPage,
    TryEventPage,
    CheckLinkPage,
    SourceKeyPage,
    CatchUpPage,
    PromotionCodesPage,
    GoLivePage,
    ListenPage,
    SwitchOffPage,
)
