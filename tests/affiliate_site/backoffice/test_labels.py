"""Labels of fields are the words of staff, not names of columns."""

import re

import pytest
from django.contrib import admin
from django.urls import reverse

from affiliate_site.backoffice.affiliates.questions import STATUSES as QUESTION_STATUSES
from affiliate_site.backoffice.connections.details import EVENT_STATES, MODES
from affiliate_site.backoffice.conversions.customer_details import STATUSES as CUSTOMER_STATUSES
from affiliate_site.backoffice.lists.columns import as_column
from affiliate_site.backoffice.lists.exports import list_cells
from affiliate_site.backoffice.payouts.payout_texts import COMMISSION_STATUSES, LINE_STATUSES
from affiliate_site.backoffice.payouts.run_detail import STATUSES as RUN_STATUSES
from payouts.models.commissions import CommissionStatus
from payouts.models.runs import PayoutLineState, PayoutRunState
from tracking.models.customers import CustomerStatus
from tracking.models.questions import QuestionState
from tracking.models.shops import ConnectionMode, ShopEventState

pytestmark = pytest.mark.engine_independent  # texts

COLUMN_WORDS = {"Id", "id", "Ip", "Url", "Mlm", "Firstname", "Lastname"}


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: str(model))
def test_columns_and_exports_have_plain_titles(model):
    words = " ".join(list_titles(model)).split()

    assert not COLUMN_WORDS & set(words)
    assert not model._meta.verbose_name_plural.endswith(("rys", "tys"))


def list_titles(model):
    """The headings of the columns of a list and of its exports."""
    model_admin = admin.site._registry[model]
    columns = map(as_column, model_admin.columns)
    return [cell.title for cell in list_cells(model_admin, columns)]


def test_what_is_removed_is_called_so():
    """The buttons say “Remove”; the columns are named `deleted_at`."""
    titles = {
        title
        for model in admin.site._registry
        for title in list_titles(model)
        if any(field.name == "deleted_at" for field in model._meta.fields)
    }

    assert "Removed (UTC)" in titles
    assert not any("eleted" in title for title in titles)


def test_empty_lists_name_no_variables_of_the_installation():
    texts = " ".join(it.empty_state for it in admin.site._registry.values())
    variables = re.findall("[A-Z]{3,}_[A-Z]+", texts)

    assert variables == []


def test_names_the_fields_of_a_page(staff_client, scenario):
    conversion = scenario.create_conversion("10", external_id="order-1", ip="192.0.2.7")

    url = reverse("admin:tracking_conversion_change", args=[conversion.pk])
    page = staff_client().get(url).content.decode()

    for label in ("Order ID", "IP address"):
        assert label in page


def test_labels_of_cells_begin_with_a_capital_like_their_columns(staff_client, scenario):
    scenario.create_conversion("10", external_id="order-1")

    page = staff_client().get(reverse("admin:tracking_conversion_changelist")).content.decode()

    labels = re.findall(' data-label="([^"]*)"', page)
    assert {"Order ID", "Created at"} <= set(labels)
    assert not [label for label in labels if label[:1].islower()]


@pytest.mark.parametrize(
    ("labels", "choices"),
    [
        (COMMISSION_STATUSES, CommissionStatus),
        (LINE_STATUSES, PayoutLineState),
        (RUN_STATUSES, PayoutRunState),
        (CUSTOMER_STATUSES, CustomerStatus),
        (QUESTION_STATUSES, QuestionState),
        (MODES, ConnectionMode),
        (EVENT_STATES, ShopEventState),
    ],
)
def test_each_status_has_a_label(labels, choices):
    assert set(labels) == set(choices)
