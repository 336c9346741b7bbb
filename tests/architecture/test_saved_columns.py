"""Code never saves a whole row that it read before.

`refuse_saves_of_whole_rows` looks at every save of all tests; this is the proof that it
sees Django's own doors, too.
"""

import pytest
from django.contrib.auth.forms import SetPasswordForm

from tests.conftest import NOW


def test_a_form_of_django_that_saves_a_whole_row_fails(account):
    user = account.staff.create(email="zoe@example.org", created_at=NOW)
    values = dict.fromkeys(("new_password1", "new_password2"), "lamps-by-the-sea")
    form = SetPasswordForm(user, values)
    assert form.is_valid()

    with pytest.raises(AssertionError, match=r"saves a whole row of accounts\.User"):
        form.save()
