"""SampleAccount: one object of every kind, created through the API on first access.

The tenant isolation tests create two of them and search for the marker of the other
account, which is part of all its texts.
"""

import io
from functools import cached_property

from django.core.management import call_command

from tests.conftest import ApiClient


class SampleAccount:
    """The objects of one account, by the names that path templates of tests use."""

    def __init__(self, api: ApiClient, account: str, marker: str) -> None:
        self.api = api
        self.account = account
        self.marker = marker

    def post(self, path: str, body: dict | list) -> dict:
        """Send a POST that must succeed; return its body."""
        response = self.api.post(path, body)
        assert response.status_code == 200, (path, response.content)
        return response.json()

    @cached_property
    def program(self) -> str:
        slug = f"{self.marker}-program"
        call_command(
            "create_program",
            *(self.account, slug, "--title", f"{self.marker} program"),
            *("--currency", "EUR", "--landing-page", f"https://{self.marker}.example/"),
            stdout=io.StringIO(),
        )
        return slug

    @cached_property
    def affiliate(self) -> str:
        """An affiliate without enrollment, with the meta data key `tier`."""
        return self.create_affiliate("first")

    @cached_property
    def second_affiliate(self) -> str:
        return self.create_affiliate("second")

    def create_affiliate(self, name: str) -> str:
        person = {
            "firstname": f"{self.marker}-{name}",
            "lastname": self.marker,
            "email": f"{name}@{self.marker}.example",
            "company": {"name": self.marker},
            "meta_data": {"tier": self.marker},
        }
        return self.post("/affiliates/", person)["id"]

    @cached_property
    def email(self) -> str:
        return self.affiliate and f"first@{self.marker}.example"

    @cached_property
    def enrolled_affiliate(self) -> str:
        """The affiliate enrolled in the program, with a coupon."""
        return self.enrollment["id"]

    @cached_property
    def enrolled_affiliate_email(self) -> str:
        return self.enrollment["email"]

    @cached_property
    def enrollment(self) -> dict:
        return self.post(
            f"/programs/{self.program}/affiliates/",
            {
                "affiliate": {"id": self.create_affiliate("member")},
                "approved": True,
                "coupon": f"{self.marker}-10",
            },
        )

    @cached_property
    def coupon(self) -> str:
        return self.enrollment["coupon"]

    @cached_property
    def referral_code(self) -> str:
        return self.enrollment["referral_link"]["link"].partition("ref=")[2]

    @cached_property
    def asset_id(self) -> str:
        return self.enrollment["referral_link"]["asset_id"]

    @cached_property
    def source_id(self) -> str:
        return self.enrollment["referral_link"]["source_id"]

    @cached_property
    def click_id(self) -> str:
        visit = {
            "referral_code": self.referral_code,
            "meta_data": {"subid1": self.marker},
        }
        return self.post("/clicks/", visit)["id"]

    @cached_property
    def customer_record(self) -> dict:
        return self.post(
            "/customers/",
            {
                "customer_id": f"{self.marker}-customer",
                "click_id": self.click_id,
                "meta_data": {"tier": self.marker},
            },
        )

    @cached_property
    def customer_public_id(self) -> str:
        return self.customer_record["id"]

    @cached_property
    def customer_id(self) -> str:
        return self.customer_record["customer_id"]

    @cached_property
    def conversion_record(self) -> dict:
        return self.post(
            "/conversions/",
            {
                "external_id": f"{self.marker}-order",
                "click_id": self.click_id,
                "customer_id": self.customer_id,
                "amount": 200,
                "meta_data": {"tier": self.marker},
            },
        )

    @cached_property
    def contested_claim(self) -> bool:
        """Two visitors report the same conversion."""
        body = {"account": self.account, "referral_code": self.referral_code}
        for _ in range(2):
            vid = self.track("click", body)["vid"]
            self.track(
                "conversion",
                {"vid": vid, "external_id": f"{self.marker}-claim", "amount": 10}
                | {"account": self.account},
            )
        return True

    def track(self, call: str, body: dict) -> dict:
        """Call an endpoint of the browser script."""
        response = self.api.client.post(f"/track/{call}/", body, content_type="application/json")
        assert response.status_code in (200, 204), (call, response.content)
        return response.json() if response.content else {}

    @cached_property
    def conversion_id(self) -> str:
        return str(self.conversion_record["id"])

    @cached_property
    def external_id(self) -> str:
        return self.conversion_record["external_id"]

    @cached_property
    def buyer_id(self) -> str:
        return self.conversion_record["customer"]["customer_id"]

    @cached_property
    def commission_id(self) -> str:
        return str(self.conversion_record["commissions"][0]["id"])

    @cached_property
    def approved_amount(self) -> str:
        """Approve the commission; return its amount."""
        response = self.api.put(f"/commissions/{self.commission_id}/approved/")
        assert response.status_code == 200, response.content
        return str(response.json()["amount"])

    @cached_property
    def payment_id(self) -> str:
        payment = {
            "affiliate_id": self.enrolled_affiliate,
            "amount": 5,
            "currency": "EUR",
        }
        return self.post("/payments/", payment)[0]["id"]

    @cached_property
    def group_id(self) -> str:
        return self.post("/affiliate-groups/", {"title": self.marker})["id"]

    @cached_property
    def note_id(self) -> str:
        """A note about the affiliate."""
        path = f"/affiliates/{self.affiliate}/notes/"
        return self.post(path, {"note": self.marker})["id"]

    @cached_property
    def prospect_id(self) -> str:
        person = {
            "firstname": f"{self.marker}-prospect",
            "lastname": self.marker,
            "email": f"prospect@{self.marker}.example",
            "program_id": self.program,
        }
        return self.post("/affiliate-prospects/", person)["id"]

    @cached_property
    def payout_method(self) -> str:
        """Set the affiliate's PayPal address; return the method."""
        path = f"/affiliates/{self.affiliate}/payout-methods/paypal/"
        response = self.api.put(path, {"paypal_address": f"p@{self.marker}.example"})
        assert response.status_code == 200, response.content
        return "paypal"
