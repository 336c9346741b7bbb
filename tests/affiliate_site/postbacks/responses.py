"""Helpers that read the responses to postbacks."""


def get_json(response):
    assert response.status_code == 200, response.content
    return response.json()


def get_error_message(response, status=400):
    """Return the message of an error without a field."""
    assert response.status_code == status, response.content
    [error] = response.json()["errors"]
    assert list(error) == ["message"]
    return error["message"]
