"""What a postback was answered."""


def said(response):
    assert response.status_code == 200, response.content
    return response.json()


def refusal(response, status=400):
    """The only message of a refusal that speaks of no field."""
    assert response.status_code == status, response.content
    [error] = response.json()["errors"]
    assert list(error) == ["message"]
    return error["message"]
