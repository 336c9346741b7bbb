"""Uses the generated Python client; test_generated_clients.py runs it.

With `call` it calls the API and prints what it saw as JSON; with `parse` it reads names
of models and bodies of webhooks from standard input.
"""

import json
import os
import sys
from datetime import datetime
from decimal import Decimal

import affiliate_client
from affiliate_client import models

CODE = os.environ["CODE"]


def main(api):
    conversions = affiliate_client.ConversionsApi(api)
    click = affiliate_client.ClicksApi(api).click_create(
        models.ClickInput(
            referral_code=CODE,
            landing_page="https://shop.example.net/",
            meta_data={"campaign": "spring"},
        )
    )
    sale = models.ConversionInput(
        external_id="generated-1",
        click_id=click.id,
        customer_id="customer-1",
        commissions=[
            models.LineItemInput(sub_amount=models.AmountInput("200")),
            models.LineItemInput(sub_amount=models.AmountInput(49.9)),
        ],
    )
    conversion = conversions.conversion_create(sale)
    replayed = [
        conversions.conversion_create(
            models.ConversionInput(referral_code=CODE, amount=models.AmountInput(10)),
            idempotency_key="generated",
        ).id
        for _ in range(2)
    ]
    updated = conversions.conversion_partial_update(
        str(conversion.id), models.ConversionUpdate(meta_data={"shop": "de"})
    )
    commission = affiliate_client.CommissionsApi(api).commission_approve(
        str(conversion.commissions[0].id)
    )
    print(  # noqa: T201 - read by the test
        json.dumps(
            {
                "amount": str(Decimal(str(conversion.amount))),
                "commissions": [row.amount for row in conversion.commissions],
                "created_at": isinstance(conversion.created_at, datetime),
                "campaign": conversion.affiliate_meta_data,
                "replayed": len(set(replayed)),
                "updated": updated.meta_data,
                "status": commission.status,
                "pages": read_pages(conversions),
                "errors": list(list_errors(api, conversions, sale)),
            }
        )
    )


def read_pages(conversions):
    """The number of rows of each page, by the header `Link`."""
    counts, page, links = [], 1, 'rel="next"'
    while 'rel="next"' in links:
        answer = conversions.conversion_list_with_http_info(page=page)
        counts.append(len(answer.data))
        page, links = page + 1, answer.headers["Link"]
    return counts


def list_errors(api, conversions, sale):
    """Status and content of errors of both shapes."""
    try:
        conversions.conversion_create(sale)
    except affiliate_client.exceptions.BadRequestException as error:
        detail = error.data.actual_instance.errors[0]
        yield [error.status, detail.message]
    try:
        conversions.conversion_retrieve("999999999")
    except affiliate_client.exceptions.NotFoundException as error:
        yield [error.status, error.data.actual_instance.errors[0].message]
    api.configuration.api_key["ApiKey"] = "wrong"
    try:
        conversions.conversion_list()
    except affiliate_client.exceptions.UnauthorizedException as error:
        yield [error.status, error.data.message]


def check_payloads(lines):
    """Parse each body by its model, and compare what the model writes."""
    for line in lines:
        name, body = json.loads(line)
        model = getattr(models, name).from_json(body)
        expected = json.loads(body.replace('+00:00"', 'Z"'))
        assert json.loads(model.to_json()) == expected, (name, body)


if __name__ == "__main__":
    configuration = affiliate_client.Configuration(
        host=os.environ["BASE"], api_key={"ApiKey": os.environ["KEY"]}
    )
    if sys.argv[1] == "call":
        with affiliate_client.ApiClient(configuration) as client:
            main(client)
    else:
        check_payloads(sys.stdin)
