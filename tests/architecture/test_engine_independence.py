"""Which tests run on SQLite only: the hook is in tests/conftest.py."""

import pytest

from tests.conftest import is_engine_independent


def test_depends_on_the_engine_with_a_database(request, account):
    assert not is_engine_independent(request.node)


def test_depends_on_the_engine_with_real_commits(request, committed_db):
    assert not is_engine_independent(request.node)


@pytest.mark.django_db
def test_depends_on_the_engine_by_the_marker_of_django(request):
    assert not is_engine_independent(request.node)


def test_does_not_depend_on_the_engine_without_a_database(request):
    assert is_engine_independent(request.node)


@pytest.mark.engine_independent
def test_does_not_depend_on_the_engine_if_marked(request, account):
    assert is_engine_independent(request.node)
