"""Helpers that read responses of the API and of postbacks, and build expected ones."""

from tests.ledger_checks import snapshot_account


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def list_error_messages(response, status=400):
    """Return the messages of an error response without field errors."""
    assert response.status_code == status, response.content
    errors = response.json()["errors"]
    assert all(list(error) == ["message"] for error in errors)
    return [error["message"] for error in errors]


def get_error_message(response, status=400):
    """Return the only message of an error response without field errors."""
    [message] = list_error_messages(response, status)
    return message


def list_field_errors(response):
    """Return path and message of each field error."""
    assert response.status_code == 400, response.content
    errors = response.json()["errors"]
    for error in errors:
        assert list(error) == ["message", "message_raw", "property_path"]
    return [(error["property_path"], error["message"]) for error in errors]


def build_field_error(path, template, value=None):
    """Return a field error whose template holds at most one value."""
    name = template.partition("{{ ")[2].partition(" }}")[0]
    message = template.replace(f"{{{{ {name} }}}}", str(value)) if name else template
    return {"message": message, "message_raw": template, "property_path": path}


def has_only_errors(response, *entries):
    assert response.status_code == 400
    assert response.json() == {"errors": list(entries)}
    return True


def snapshot_account_data(account, *ignored):
    """Return all rows, except usage of keys and these models."""
    return snapshot_account(account) | dict.fromkeys(("ApiKey", *ignored))
