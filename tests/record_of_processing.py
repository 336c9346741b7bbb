"""The columns in the record of processing: the table of docs/privacy.md, section 3."""

import re
from typing import NamedTuple

from affiliate_site.env import BASE_DIR

ROW = re.compile(r"^\| (\w+\.\w+): ([\w, ]+) \| ([\w, ]+) \|", re.MULTILINE)


class RecordedColumn(NamedTuple):
    """A column, and whose personal data it has: `affiliate`, `staff` …"""

    table: str
    name: str
    people: tuple[str, ...]


def list_recorded_columns() -> list[RecordedColumn]:
    record = (BASE_DIR / "docs" / "privacy.md").read_text()
    return [
        RecordedColumn(table, name, tuple(people.split(", ")))
        for table, names, people in ROW.findall(record)
        for name in names.split(", ")
    ]
