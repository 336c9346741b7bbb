"""Filters of lists, all in the URL: by program, affiliate, group, currency, amount.

A program, affiliate or group is named by its ID; an affiliate by any text that finds
only this one, too. One that the account does not have shows no rows. The choices of all
filters of a page are read by one query.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.admin import (
    ChoicesFieldListFilter,
    FieldListFilter,
    SimpleListFilter,
)
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import BooleanField, Exists, OuterRef, Q, Value
from django.utils.functional import cached_property

from accounts.decimals import parse_decimal
from accounts.tenant_admin import filter_for_user, get_user
from affiliate_site.backoffice.fields import read_number
from affiliate_site.backoffice.formatters import format_person
from payouts.models.bonuses import Bonus
from payouts.models.commissions import Commission, CommissionStatus
from tracking.models.affiliates import Affiliate, AffiliateGroup
from tracking.models.enrollments import Enrollment
from tracking.models.programs import Program
from tracking.services.search import list_affiliates_by_text

MAX_CHOICES = 500  # programs or groups that a filter offers
MAX_CANDIDATES = 8  # affiliates to choose from, if a text finds several
CURRENCY_PATTERN = re.compile(r"[A-Z]{3}")


class FormFilter(SimpleListFilter):
    """A filter with form fields instead of links; `value_text` is shown in its chip."""

    template = "admin/filter_field.html"
    parameters: tuple[str, ...] = ()  # in addition to `parameter_name`
    input_type = "text"
    placeholder = ""
    empty_text = "All"  # of a select that is not set
    column = ""

    def __init__(self, request, params, model, model_admin):
        self.request = request
        super().__init__(request, params, model, model_admin)
        for name in self.parameters:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]

    def has_output(self):
        return True

    def expected_parameters(self):
        return [self.parameter_name, *self.parameters]

    def lookups(self, request, model_admin):
        return ()

    def choices(self, changelist):
        """The fields of the form: name, label, value and options."""
        yield {
            "name": self.parameter_name,
            "label": self.title,
            "type": self.input_type,
            "placeholder": self.placeholder,
            "value": self.value() or "",
            "empty_text": self.empty_text,
            "options": self.list_options(),
        }

    def list_options(self):
        """Values and texts to select from; none for a text field."""
        return ()

    @property
    def value_text(self) -> str:
        return self.value() or ""


class SelectFilter(FormFilter):
    """One of a few values; a message calls any other one “no `noun`”."""

    input_type = "select"
    noun = "state"

    def queryset(self, request, queryset):
        value = self.value()
        if not value:
            return queryset
        if value not in dict(self.list_options()):
            raise BadRequest(f"“{value}” is no {self.noun}")
        return self.filter_rows(queryset)

    def filter_rows(self, queryset):
        """The rows with the selected value."""
        return queryset

    @property
    def value_text(self):
        return dict(self.list_options()).get(self.value() or "", self.value())


class ColumnFilter(ChoicesFieldListFilter):
    """Rows with one value of a column that has choices, selected in the form."""

    template = FormFilter.template

    def list_options(self) -> list[tuple[str, str]]:
        """Values and texts to select from."""
        return [(str(value), str(text)) for value, text in self.field.flatchoices]

    def choices(self, changelist):
        yield {
            "name": self.lookup_kwarg,
            "label": self.title,
            "type": "select",
            "value": self.value,
            "empty_text": FormFilter.empty_text,
            "options": self.list_options(),
        }

    @property
    def value(self) -> str:
        """The selected value; empty for all."""
        return self.lookup_val[-1] if self.lookup_val else ""

    @property
    def value_text(self) -> str:
        return dict(self.list_options()).get(self.value, self.value)


class YesNoFilter(ColumnFilter):
    """Rows of which a column is true or false."""

    def list_options(self):
        return [("1", "Yes"), ("0", "No")]


FieldListFilter.register(lambda field: bool(field.flatchoices), ColumnFilter, take_priority=True)
FieldListFilter.register(
    lambda field: isinstance(field, BooleanField), YesNoFilter, take_priority=True
)


class ChoiceFilter(FormFilter):
    input_type = "select"
    kind = ""
    model: Any
    id_column = ""

    def list_options(self):
        return [(key, text) for key, _, text in load_choices(self.request)[self.kind]]

    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        pks = self.find_pks()
        if len(pks) == 1:
            return queryset.filter(**{self.column: pks[0]})
        return queryset.filter(**{f"{self.column}__in": pks})

    def find_pks(self):
        """The keys of the rows with this ID: an operator's choices may have several."""
        return [pk for pk, _ in self.found]

    @cached_property
    def found(self) -> list[tuple[int, str]]:
        """The keys and texts of the rows with this ID; a full list lacks some."""
        choices = load_choices(self.request)[self.kind]
        if len(choices) < MAX_CHOICES:
            return [(pk, text) for key, pk, text in choices if key == self.value()]
        rows = filter_for_user(self.model.objects.all(), get_user(self.request))
        rows = rows.filter(**{self.id_column: self.value()}).values_list("pk", "title")
        return [(pk, f"{title} ({self.value()})") for pk, title in rows]

    @property
    def value_text(self):
        return self.found[-1][1] if self.found else f"{self.value()} (unknown)"


class ProgramFilter(ChoiceFilter):
    title = "program"
    parameter_name = "program"
    kind = "program"
    model = Program
    id_column = "slug"
    column = "program"


class EnrolledProgramFilter(ProgramFilter):
    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        enrollments = Enrollment.objects.filter(
            account=OuterRef("account"),
            affiliate=OuterRef("pk"),
            program__in=self.find_pks(),
        )
        return queryset.filter(Exists(enrollments))


class CommissionProgramFilter(ProgramFilter):
    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        pks = self.find_pks()
        bonuses = Bonus.objects.filter(program__in=pks).values("pk")
        return queryset.filter(Q(conversion__program__in=pks) | Q(bonus__in=bonuses))


class GroupFilter(ChoiceFilter):
    """Rows of one affiliate group."""

    title = "group"
    parameter_name = "group"
    kind = "group"
    model = AffiliateGroup
    id_column = "public_id"
    column = "group"


class AffiliateGroupFilter(GroupFilter):
    column = "affiliate"

    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        rows = Affiliate.objects.filter(group__in=self.find_pks())
        members = filter_for_user(rows, get_user(request)).values("pk")
        return queryset.filter(affiliate__in=members)


class CommissionStatusFilter(SelectFilter):
    title = "commission status"
    parameter_name = "commission_status"
    noun = "status"

    def list_options(self):
        return CommissionStatus.choices

    def filter_rows(self, queryset):
        rows = Commission.objects.not_deleted().filter(status=self.value())
        # In this form the days of a list are counted ahead, as for the API.
        commissions = filter_for_user(rows, get_user(self.request))
        return queryset.filter(pk__in=commissions.values("conversion"))


class CurrencyFilter(FormFilter):
    """Rows with amounts in one currency; offers those of the programs."""

    title = "currency"
    parameter_name = "currency"
    input_type = "select"

    def list_options(self):
        codes = load_choices(self.request)["currency"]
        return [(code, code) for code in sorted({*codes, self.value() or ""} - {""})]

    def queryset(self, request, queryset):
        currency = self.value()
        if not currency:
            return queryset
        if not CURRENCY_PATTERN.fullmatch(currency):
            raise BadRequest(f"“{currency}” is no currency: enter one like EUR")
        return self.filter_rows(queryset, currency)

    def filter_rows(self, queryset, currency):
        return queryset.filter(currency=currency)


class AffiliateFilter(FormFilter):
    """Rows of one affiliate: by its ID, or by a text that finds only this one."""

    title = "affiliate"
    parameter_name = "affiliate"
    template = "admin/affiliate_filter.html"
    column = "affiliate"

    def queryset(self, request, queryset):
        if not self.value():
            return queryset
        affiliate = self.affiliate
        return self.filter_rows(queryset, affiliate) if affiliate else queryset.none()

    def filter_rows(self, queryset, affiliate):
        return queryset.filter(**{self.column: affiliate})

    @property
    def affiliate(self) -> Affiliate | None:
        """The affiliate that is meant; None if it is not clear which one."""
        return self.candidates[0] if len(self.candidates) == 1 else None

    @cached_property
    def candidates(self) -> list[Affiliate]:
        """The affiliate with the ID, else those that a search finds, a few of them."""
        user = get_user(self.request)
        rows = filter_for_user(Affiliate.objects.all(), user)
        text = self.value() or ""
        with_id = list(rows.filter(slug=text)[:1])
        if with_id or user.account is None:
            return with_id
        return list_affiliates_by_text(user.account, text, MAX_CANDIDATES)

    @property
    def value_text(self):
        if self.affiliate:
            return format_person(self.affiliate)
        if self.candidates:
            return f"{self.value()} (several: choose one)"
        return f"{self.value()} (unknown)"

    @property
    def choice_links(self) -> list[tuple[str, str]]:
        """Names and queries of the affiliates to choose from, if there are several."""
        if len(self.candidates) < 2:
            return []
        query = self.request.GET.copy()
        query.pop("p", None)
        links = []
        for affiliate in self.candidates:
            query[str(self.parameter_name)] = affiliate.slug
            links.append((format_person(affiliate), f"?{query.urlencode()}"))
        return links


class LedgerAffiliateFilter(AffiliateFilter):
    """Ledger entries that change a balance of one affiliate."""

    def filter_rows(self, queryset, affiliate):
        balances = list(
            affiliate.account.ledger_accounts.filter(affiliate=affiliate).values_list(
                "pk", flat=True
            )
        )
        return queryset.filter(Q(debit__in=balances) | Q(credit__in=balances))


class BalanceFilter(FormFilter):
    """Balances above an amount, by default above zero."""

    title = "balance above"
    parameter_name = "balance__gt"
    placeholder = "0.00"

    def queryset(self, request, queryset):
        amount = self.value()
        if not amount:
            return queryset
        try:
            return queryset.filter(balance__gt=parse_decimal(read_number(amount)))
        except (ValueError, ValidationError):
            raise BadRequest(f"“{amount}” is no amount") from None


class ZeroBalanceFilter(SelectFilter):
    """Leaves out balances of zero, unless it is set.

    Not from the rows of an action, which says what became zero meanwhile, nor from
    those that are withheld.
    """

    title = "balances of zero"
    parameter_name = "zero"
    empty_text = "Hidden"

    def list_options(self):
        return [("shown", "Shown")]

    def queryset(self, request, queryset):
        shows_all = request.method == "POST" or "is_withheld" in request.GET
        if not self.value() and not shows_all:
            return queryset.exclude(balance=0)
        return super().queryset(request, queryset)


def load_choices(request) -> dict[str, list]:
    """The programs and groups of the user (ID, key and text), and the currencies."""
    if not hasattr(request, "filter_choices"):
        programs = filter_for_user(Program.objects.all(), request.user)
        groups = filter_for_user(AffiliateGroup.objects.all(), request.user)
        rows = (
            programs.order_by()
            .values_list(Value("program"), "slug", "pk", "title", "currency")
            .union(
                groups.order_by().values_list(Value("group"), "public_id", "pk", "title", Value(""))
            )
        )
        choices: dict[str, list] = defaultdict(list)
        for kind, key, pk, title, currency in rows.order_by("title"):
            if len(choices[kind]) < MAX_CHOICES:
                choices[kind].append((key, pk, f"{title} ({key})"))
            if currency:
                choices["currency"].append(currency)
        request.filter_choices = choices
    return request.filter_choices


@dataclass(frozen=True)
class Chip:
    """A filter that is set, and the query of the list without it."""

    title: str
    value: str
    remove_query: str
    choices: Sequence[tuple[str, str]] = ()  # texts and queries, if it is not clear


def list_chips(changelist, request) -> list[Chip]:
    """The filters and the search that are set."""
    chips = []
    if changelist.query:
        chips.append(build_chip(request, "search", changelist.query, ["q"]))
    seen = {"q", "o", "p", "e"}
    for spec in changelist.filter_specs:
        names = spec.expected_parameters()
        seen.update(names)
        if not any(request.GET.get(name) for name in names):
            continue
        chip = build_chip(request, spec.title, spec.value_text, names)
        choices = getattr(spec, "choice_links", ())
        chips.append(replace(chip, choices=choices))
    for name, value in request.GET.items():
        if name not in seen:
            title = name.partition("__")[0].replace("_", " ")
            chips.append(build_chip(request, title, value, [name]))
    return chips


def build_chip(request, title, value, names) -> Chip:
    """A chip that removes these parameters.

    Django's `get_query_string` would remove all that begin like them, too.
    """
    query = request.GET.copy()
    for name in (*names, "p"):
        query.pop(name, None)
    return Chip(str(title).capitalize(), str(value), f"?{query.urlencode()}")
