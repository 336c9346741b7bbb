"""The codes of errors."""

import pytest

from accounts.errors import ErrorList, get_error_code
from tracking.errors import CookieExpired, InvalidAssetOrSource, UnknownCurrency


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CookieExpired(), "cookie_expired"),
        (InvalidAssetOrSource(), "invalid_asset_or_source"),
        (ErrorList([UnknownCurrency(), CookieExpired()]), "unknown_currency"),
    ],
)
def test_code_is_the_name_of_the_error(error, code):
    assert get_error_code(error) == code
