"""An account with one of everything, made through the API alone, when it is asked for.

Two such worlds stand side by side in the walk; every text of the other one carries
its mark, so that a leak can be searched for.
"""

import io
from functools import cached_property

from django.core.management import call_command

from tests.conftest import Api


class World:
    """What one account has, by the name that stands in a line of the walk."""

    def __init__(self, api: Api, account: str, mark: str) -> None:
        self.api = api
        self.account = account
        self.mark = mark

    def made(self, path: str, body: dict | list) -> dict:
        """The answer to a POST that has to succeed."""
        response = self.api.post(path, body)
        assert response.status_code == 200, (path, response.content)
        return response.json()

    @cached_property
    def program(self) -> str:
        slug = f"{self.mark}-program"
        call_command(
            "create_program",
            *(self.account, slug, "--title", f"{self.mark} program"),
            *("--currency", "EUR", "--landing-page", f"https://{self.mark}.example/"),
            stdout=io.StringIO(),
        )
        return slug

    @cached_property
    def affiliate(self) -> str:
        """In no program, without meta data but for the key `tier`."""
        return self.signed_up("first")

    @cached_property
    def rival(self) -> str:
        return self.signed_up("second")

    def signed_up(self, name: str) -> str:
        person = {
            "firstname": f"{self.mark}-{name}",
            "lastname": self.mark,
            "email": f"{name}@{self.mark}.example",
            "company": {"name": self.mark},
            "meta_data": {"tier": self.mark},
        }
        return self.made("/affiliates/", person)["id"]

    @cached_property
    def email(self) -> str:
        return self.affiliate and f"first@{self.mark}.example"

    @cached_property
    def member(self) -> str:
        """The affiliate that the program has, with a coupon."""
        return self.enrolment["id"]

    @cached_property
    def member_email(self) -> str:
        return self.enrolment["email"]

    @cached_property
    def enrolment(self) -> dict:
        return self.made(
            f"/programs/{self.program}/affiliates/",
            {
                "affiliate": {"id": self.signed_up("member")},
                "approved": True,
                "coupon": f"{self.mark}-10",
            },
        )

    @cached_property
    def coupon(self) -> str:
        return self.enrolment["coupon"]

    @cached_property
    def code(self) -> str:
        return self.enrolment["referral_link"]["link"].partition("ref=")[2]

    @cached_property
    def asset(self) -> str:
        return self.enrolment["referral_link"]["asset_id"]

    @cached_property
    def source(self) -> str:
        return self.enrolment["referral_link"]["source_id"]

    @cached_property
    def click(self) -> str:
        visit = {"referral_code": self.code, "meta_data": {"subid1": self.mark}}
        return self.made("/clicks/", visit)["id"]

    @cached_property
    def customer_record(self) -> dict:
        return self.made(
            "/customers/",
            {
                "customer_id": f"{self.mark}-customer",
                "click_id": self.click,
                "meta_data": {"tier": self.mark},
            },
        )

    @cached_property
    def customer(self) -> str:
        return self.customer_record["id"]

    @cached_property
    def customer_id(self) -> str:
        return self.customer_record["customer_id"]

    @cached_property
    def conversion_record(self) -> dict:
        return self.made(
            "/conversions/",
            {
                "external_id": f"{self.mark}-order",
                "click_id": self.click,
                "customer_id": f"{self.mark}-customer",
                "amount": 200,
                "meta_data": {"tier": self.mark},
            },
        )

    @cached_property
    def conversion(self) -> str:
        return str(self.conversion_record["id"])

    @cached_property
    def external_id(self) -> str:
        return self.conversion_record["external_id"]

    @cached_property
    def buyer_id(self) -> str:
        return self.conversion_record["customer"]["customer_id"]

    @cached_property
    def commission(self) -> str:
        return str(self.conversion_record["commissions"][0]["id"])

    @cached_property
    def balance(self) -> str:
        """What the commission gives the member once it is approved."""
        response = self.api.put(f"/commissions/{self.commission}/approved/")
        assert response.status_code == 200, response.content
        return str(response.json()["amount"])

    @cached_property
    def payment(self) -> str:
        order = {"affiliate_id": self.member, "amount": 5, "currency": "EUR"}
        return self.made("/payments/", order)[0]["id"]

    @cached_property
    def group(self) -> str:
        return self.made("/affiliate-groups/", {"title": self.mark})["id"]

    @cached_property
    def note(self) -> str:
        """A note about the affiliate."""
        path = f"/affiliates/{self.affiliate}/notes/"
        return self.made(path, {"note": self.mark})["id"]

    @cached_property
    def prospect(self) -> str:
        person = {
            "firstname": f"{self.mark}-prospect",
            "lastname": self.mark,
            "email": f"prospect@{self.mark}.example",
            "program_id": self.program,
        }
        return self.made("/affiliate-prospects/", person)["id"]

    @cached_property
    def payout_details(self) -> str:
        """PayPal, set for the affiliate."""
        path = f"/affiliates/{self.affiliate}/payout-methods/paypal/"
        response = self.api.put(path, {"paypal_address": f"p@{self.mark}.example"})
        assert response.status_code == 200, response.content
        return "paypal"
