"""A user names the filter, search and order of a list, and finds it above the list."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models.api_keys import Role
from accounts.models.users import User
from accounts.services.saved_views import (
    MAX_SAVED_VIEWS,
    create_saved_view,
    list_saved_views,
)

pytestmark = pytest.mark.engine_independent  # its queries are tested with services

LIST = "tracking_affiliate"
QUERY = "group=gold&o=1&q=hana"


def build_url(name, *args):
    return reverse(f"admin:{LIST}_{name}", args=args)


def save(client, name="Gold Hanas", query=QUERY):
    form = {"name": name, "query": query}
    return client.post(build_url("save_view"), form, follow=True)


def list_names(client):
    response = client.get(build_url("changelist"))
    return [view.name for view in response.context["saved_views"]]


@pytest.fixture(params=[Role.OWNER, Role.VIEWER])
def client(staff_client, request):
    return staff_client(role=request.param)


def test_saves_a_view_and_shows_it_above_the_list(client):
    response = save(client, query=f"{QUERY}&p=7&e=1&from=")

    assert response.redirect_chain == [(f"{build_url('changelist')}?{QUERY}", 302)]
    page = response.content.decode()
    link = QUERY.replace("&", "&amp;")
    assert f'<a href="?{link}" aria-current="page">Gold Hanas</a>' in page
    assert list_names(client) == ["Gold Hanas"]
    other_list = client.get(reverse("admin:tracking_customer_changelist"))
    assert other_list.context["saved_views"] == []


def test_offers_to_save_only_what_differs_from_the_whole_list(client):
    assert "Save this view" not in client.get(build_url("changelist")).content.decode()
    page = client.get(build_url("changelist"), {"q": "hana"}).content.decode()
    assert "Save this view" in page


def test_removes_a_view(client, account):
    save(client)

    response = client.post(build_url("remove_view", account.saved_views.get().pk), {"query": "q=x"})

    assert response["Location"] == f"{build_url('changelist')}?q=x"
    assert list_names(client) == []


@pytest.mark.parametrize(
    ("name", "query", "error"),
    [
        ("", QUERY, "must be 1 to 64 printable characters"),
        ("x" * 65, QUERY, "must be 1 to 64 printable characters"),
        ("a\x07b", QUERY, "must be 1 to 64 printable characters"),
        ("all", "", "must be a filter"),
        ("all", "p=2", "must be a filter"),
        ("long", "q=" + "x" * 2000, "not too long"),
        ("Gold  Hanas ", "q=other", "You already have a view “Gold Hanas”"),
    ],
)
def test_says_why_a_view_cannot_be_saved(client, name, query, error):
    save(client)

    response = save(client, name, query)

    assert error in response.content.decode()
    assert list_names(client) == ["Gold Hanas"]


def test_limits_the_views_of_a_list(client):
    for number in range(MAX_SAVED_VIEWS):
        save(client, f"view {number}")

    response = save(client, "one more")

    assert "remove one first" in response.content.decode()
    assert len(list_names(client)) == MAX_SAVED_VIEWS


def test_shows_a_view_to_its_user_only(staff_client, account, other_account):
    client, colleague = staff_client(role="owner"), staff_client(role="manager")
    save(client)
    view = account.saved_views.get()

    assert list_names(colleague) == []
    response = colleague.post(build_url("remove_view", view.pk), follow=True)
    assert "does not exist any more" in response.content.decode()
    assert list_names(client) == ["Gold Hanas"]
    assert list_saved_views(other_account, user=view.user, list_label=view.list) == []


def test_shows_nothing_of_another_account(staff_client, other_account):
    foreign_user = User.objects.create(account=other_account, email="a@b.example")
    view = create_saved_view(
        other_account,
        user=foreign_user,
        list_label="tracking.affiliate",
        name="zz-marker",
        query="q=zz-marker",
        at=timezone.now(),
    )
    client = staff_client()

    assert list_names(client) == []
    client.post(build_url("remove_view", view.pk))
    assert other_account.saved_views.count() == 1


def test_operators_have_no_views(client):
    operator = User.objects.create_superuser(email="ops@example.org", password="x")
    client.force_login(operator)

    assert save(client).status_code == 403
    assert list_names(client) == []


def test_forms_are_posted(client):
    assert client.get(build_url("save_view")).status_code == 405
    assert client.get(build_url("remove_view", 1)).status_code == 405
