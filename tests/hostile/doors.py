"""The doors of the service: who may enter, and the limits of what they bring along.

`test_doors.py` proves each line of the doors that need no sign-in. See section 11 of
docs/reliability.md.
"""

from dataclasses import dataclass

MIB = 2**20
FORM_BYTES = 3_000_000
JSON_OBJECTS = "depth 32, no repeated key"
FORM_OBJECTS = "1,000 fields: 400"
NOTHING = "none"
NOT_COUNTED = "not counted"
WRONG_KEYS = "300 wrong keys a minute"
SIGN_IN_CALLS = "20 a minute, 5 of them for a name"


@dataclass(frozen=True)
class Door:
    """A door that needs no sign-in. `routes` are patterns of URLs; `*` ends a prefix.

    `size` has the bytes that a body may have and the answer to one byte more. Calls
    of one client that the door refuses leave `refused_rows` at most, each call that it
    accepts `accepted_rows`, beside the counters of rate limits.
    """

    name: str
    routes: tuple[str, ...]
    who: str
    size: tuple[tuple[int, int], ...] = ()
    objects: str = ""
    calls: str = NOT_COUNTED
    refused_rows: int = 0
    accepted_rows: int = 0
    accepted: str = NOTHING


DOORS = (
    Door(
        "Pages to read: `/`, `/docs/`, `/demo/`, `/tap.js`, images, `/healthz`",
        (
            *("", "favicon.ico", "tap.js", "creatives/*", "demo/", "docs/*"),
            *("openapi.json", "healthz", "readyz"),
        ),
        "anybody",
    ),
    Door(
        "API and postbacks without a valid key",
        ("1.6/*", "1.7/pb/*"),
        "anybody",
        calls=WRONG_KEYS,
        refused_rows=1,
    ),
    Door(
        "`/track/click/`",
        ("track/click/",),
        "anybody",
        ((MIB, 413),),
        JSON_OBJECTS,
        "120 a minute",
        refused_rows=3,
        accepted_rows=2,
        accepted="2 a call, within the rows and megabytes of clicks",
    ),
    Door(
        "`/track/customer/`",
        ("track/customer/",),
        "anybody",
        ((MIB, 413),),
        JSON_OBJECTS,
        "120 a minute",
        refused_rows=2,
        accepted_rows=3,
        accepted="3 a call, within the megabytes of sales",
    ),
    Door(
        "`/track/handover/`",
        ("track/handover/",),
        "anybody",
        ((MIB, 413),),
        f"{JSON_OBJECTS}, 10 hosts",
        "120 a minute",
        refused_rows=2,
    ),
    Door(
        "`/track/conversion/`",
        ("track/conversion/",),
        "anybody",
        ((MIB, 413),),
        f"{JSON_OBJECTS}, 100 commissions",
        "120 a minute",
        refused_rows=2,
        accepted_rows=7,
        accepted="7 a call and 5 a commission, within the megabytes of sales",
    ),
    Door(
        "Short links `/r/`",
        ("r/*",),
        "anybody",
        calls="120 a minute",
        refused_rows=1,
        accepted_rows=1,
        accepted="1 a call, within the rows and megabytes of clicks",
    ),
    Door(
        "Events of shops `/in/`",
        ("in/*",),
        "who signs with the connection's secret",
        ((1_000_000, 413),),
        "one event",
    ),
    Door(
        "Bounces `/anymail/`",
        ("anymail/*",),
        "who has `ANYMAIL_WEBHOOK_SECRET`",
        ((MIB, 400),),
        "one report",
    ),
    Door(
        "Office: sign in, sign out",
        ("admin/login/", "admin/logout/"),
        "anybody",
        ((MIB, 400), (FORM_BYTES, 413)),
        FORM_OBJECTS,
        SIGN_IN_CALLS,
        refused_rows=21,
        accepted_rows=1,
        accepted="a session",
    ),
    Door(
        "Office: invitation",
        ("admin/invitation/",),
        "who has the link",
        ((MIB, 400), (FORM_BYTES, 413)),
        FORM_OBJECTS,
        "5 a minute",
        refused_rows=2,
    ),
    Door(
        "Portal: pages to read, logo, color, view of staff",
        (
            *("partners/<slug:account>/", "partners/<slug:account>/terms/"),
            *("partners/<slug:account>/theme.css", "partners/<slug:account>/logo/"),
            "partners/<slug:account>/<slug:program>/",
            "partners/<slug:account>/view/<str:token>/",
            "partners/<slug:account>/profile/deleted/<str:token>/",
        ),
        "anybody",
    ),
    Door(
        "Portal: language",
        ("partners/<slug:account>/language/",),
        "anybody",
        ((MIB, 400),),
        FORM_OBJECTS,
    ),
    Door(
        "Portal: sign in, code, sign out",
        (
            "partners/<slug:account>/sign-in/",
            "partners/<slug:account>/sign-in/code/<str:token>/",
            "partners/<slug:account>/sign-out/",
        ),
        "anybody",
        ((MIB, 400),),
        FORM_OBJECTS,
        SIGN_IN_CALLS,
        refused_rows=21,
        accepted_rows=1,
        accepted="a session",
    ),
    Door(
        "Portal: ask for a link",
        ("partners/<slug:account>/password/",),
        "anybody",
        ((MIB, 400),),
        FORM_OBJECTS,
        SIGN_IN_CALLS,
        refused_rows=41,
        accepted_rows=1,
        accepted="a request, of known and unknown addresses alike",
    ),
    Door(
        "Portal: links in mails, to set a password",
        ("partners/<slug:account>/password/<str:token>/",),
        "who has the link",
        ((MIB, 400),),
        FORM_OBJECTS,
    ),
    Door(
        "Portal: other links in mails",
        (
            "partners/<slug:account>/sign-in/<str:token>/",
            "partners/<slug:account>/email/<str:token>/",
            "partners/<slug:account>/apply/<str:token>/",
        ),
        "who has the link",
    ),
    Door(
        "Portal: apply",
        ("partners/<slug:account>/apply/",),
        "anybody",
        ((MIB, 400),),
        FORM_OBJECTS,
        "10 an hour, 300 for an account",
        refused_rows=21,
        accepted_rows=2,
        accepted="an application and a mail; deleted by `prune`",
    ),
)

# Name, who, bytes, objects, time, rows, and the test that shows the limits.
SIGNED_IN_DOORS = (
    (
        "API",
        "keys, by role",
        f"{MIB:,}: 413",
        f"{JSON_OBJECTS}, 100 items, 500 payments",
        "limits of the operations",
        "what is written",
        "affiliate_site/api/test_parsing.py",
    ),
    (
        "Portal, forms of affiliates",
        "who is signed in",
        f"{MIB:,}: 400",
        FORM_OBJECTS,
        "60 forms an hour, and the limits of passwords, codes and look-ups",
        "what is written",
        "affiliate_site/portal/test_postbacks.py",
    ),
    (
        "Tables, in the office",
        "owners",
        "2,900,000",
        "2,000 rows at a time",
        "256 MB and 10 s in a process, one after the other; one waits 1.5 s",
        "the upload, and what is imported",
        "affiliate_site/moving/tables/test_limited.py",
    ),
    (
        "Answers of banks",
        "finance, owners; command",
        "2,900,000; 50,000,000 by command",
        "2 million rows or tags, 1 MB each, depth 50",
        "rows are read one by one",
        "what is applied",
        "affiliate_site/payout_files/test_result_bounds.py",
    ),
    (
        "Banners and logos",
        "managers; logos: owners",
        f"{2 * MIB:,}, sent and stored",
        "4,096 pixels wide and high, 5 million in all, read from the header",
        "one image a form",
        "one file",
        "affiliate_site/test_creative_images.py",
    ),
    (
        "Account files",
        "operators, by command",
        "200 times the file",
        "10⁹ rows a table, 8 MiB a row, 64 MiB an image",
        "rows are read one by one",
        "a refused file: none",
        "affiliate_site/moving/test_account_files.py",
    ),
)
