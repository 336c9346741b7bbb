"""A scenario becomes the rule while forms change, add and remove the same rates.

All of it or nothing, and nobody overwrites what was not seen: each entry of the audit log
says what was before, and this is what the entry before it has set.
"""

from decimal import Decimal

import pytest

from accounts.models.api_keys import Role
from accounts.services.staff import create_staff_user
from affiliate_site.backoffice.actions import DATABASE_TIMEOUT_MESSAGE
from affiliate_site.backoffice.theme import get_object_url
from payouts.services.programs import (
    ProgramSettings,
    create_level,
    create_program,
    set_group_rate,
)
from payouts.services.scenarios import calculate_now, create_scenario
from payouts.statistics import Period
from tests.conftest import NOW
from tracking.services.hierarchy import create_group

pytestmark = pytest.mark.integration

FIVE = {"kind": "percentage", "value": Decimal(5)}
TWELVE = {"kind": "percentage", "value": "12"}
TWENTY = {"kind": "percentage", "value": "20", "title": "Twenty"}
APPLY = ("scenario", "apply", {})
OTHERS = {
    "group rate": [
        ("grouprate", "edit", TWENTY),
        ("grouprate", "remove", {}),
        ("program", "add-group-rate", TWENTY),
    ],
    "rate": [
        ("commissiontype", "edit", TWENTY | {"is_default": "on"}),
        ("grouprate", "edit", TWENTY),
        APPLY,
    ],
    "level": [
        ("level", "edit", TWENTY),
        ("level", "remove", {}),
        ("program", "add-level", TWENTY),
    ],
}
APPLIED = [
    ("commission_type.updated", 10, 12),
    ("group_rate.updated", 5, 12),
    ("level.updated", 5, 12),
    ("program.updated", 0, 3),
]


class Round:
    """A new program with rates, a scenario that changes all of them, and their pages."""

    def __init__(self, account, number):
        self.account = account
        settings = ProgramSettings(title="Lamps", currency="EUR", landing_page="https://a.example")
        program = create_program(account, slug=f"lamps-{number}", settings=settings, at=NOW)
        group = create_group(account, title=f"Gold {number}", at=NOW)
        kind = account.commission_types.get(program=program)
        rate = set_group_rate(account, commission_type=kind, group=group, **FIVE, at=NOW)
        level = create_level(account, program=program, title="Parent", **FIVE, at=NOW)
        rates = {"standard": TWELVE | {"groups": {group.public_id: TWELVE}}}
        changes = {"rates": rates, "levels": {"2": TWELVE}, "hold_days": 3}
        scenario = create_scenario(
            account,
            period=Period(NOW.date(), NOW.date()),
            changes={"programs": {program.slug: changes}},
            describe=str,
            at=NOW,
        )
        calculate_now(scenario, at=NOW)
        self.rows = {row._meta.model_name: row for row in (program, kind, rate, level, scenario)}
        self.names = {"commission_type": kind.pk, "group": group.pk}
        self.program = program
        self.start = self.read()
        self.begun_after = account.audit_log.latest("pk").pk

    def build_task(self, user, model, page, values):
        """The task that saves a page."""
        return {
            "task": "save_page",
            "account": self.account.slug,
            "email": user.email,
            "path": f"{get_object_url(self.rows[model]).removesuffix('change/')}{page}/",
            **(self.names if page == "add-group-rate" else {}),
            **values,
        }

    def list_changes(self):
        """Kind, subject, actor, and what was before and is after, of each entry."""
        for entry in self.account.audit_log.filter(pk__gt=self.begun_after).order_by("pk"):
            details = entry.details
            before, after = details.get("value") or details.get("hold_days") or (None, None)
            if entry.kind.endswith(".created"):
                after = details["rate"]
            elif entry.kind.endswith(".deleted"):
                before = details["rate"]
            before, after = (None if it is None else Decimal(it) for it in (before, after))
            yield entry.kind, entry.subject, entry.actor, before, after

    def replay(self):
        """The values of all rows by the log, each change from what was before it."""
        present = dict(self.start)
        for kind, subject, _, before, after in self.list_changes():
            assert before == present.pop(subject, None), kind
            if after is not None:
                present[subject] = after
        return present

    def read(self):
        """The values of all rows, named as in the log."""
        program = self.program.reload()
        rows = [
            *self.account.commission_types.filter(program=program),
            *self.account.group_rates.filter(commission_type__program=program),
            *self.account.levels.filter(program=program),
        ]
        rates = {f"{row._meta.model_name}:{row.log_id}": row.value for row in rows}
        return rates | {f"program:{program}": program.hold_days}


@pytest.mark.parametrize("others", OTHERS)
@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(5, id="quick"),
        pytest.param(100, id="whole", marks=pytest.mark.slow),
    ],
)
def test_becomes_the_rule_whole_or_not_at_all(workers, scenario, others, rounds):
    account = scenario.account
    pages = [APPLY, *OTHERS[others]]
    users = [
        create_staff_user(account, email=f"{n}@e.example", role=Role.OWNER, password=None, at=NOW)[
            0
        ]
        for n in range(len(pages))
    ]
    for number in range(rounds):
        race = Round(account, number)

        results = workers.run(
            *(race.build_task(user, *page) for user, page in zip(users, pages, strict=True))
        )

        assert not [text for text in results if DATABASE_TIMEOUT_MESSAGE in text or "Error" in text]
        assert race.replay() == race.read()
        for user, page, result in zip(users, pages, results, strict=True):
            if page is APPLY:
                own = [
                    (kind, *values)
                    for kind, _, by, *values in race.list_changes()
                    if by == user.actor_name
                ]
                assert own == (APPLIED if result == "done" else [])
