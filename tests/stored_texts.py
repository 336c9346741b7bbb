"""Where a text is in the database, however it was written there."""

import re
import zlib
from base64 import b64decode
from contextlib import suppress
from unicodedata import combining, normalize
from urllib.parse import unquote_plus

from django.db import connection

from accounts.encryption import TOKEN_PREFIX, decrypt

ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})")


def read_plainly(value):
    """A stored value: decrypted, unpacked, without escapes, case and accents."""
    if isinstance(value, bytes | memoryview):
        value = bytes(value).decode(errors="replace")
    text = str(value)
    if text.strip('"').startswith(TOKEN_PREFIX):
        text = decrypt(text.strip('"'))
    with suppress(ValueError, zlib.error):  # it is no packed file
        text += zlib.decompress(b64decode(text)).decode()
    text = unquote_plus(unquote_plus(text))
    text = ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    letters = normalize("NFKD", text)
    return "".join(it for it in letters if not combining(it)).casefold()


def find_marked_columns(*marks):
    """Return (table, column) of all values in the database that contain a mark."""
    found = set()
    with connection.cursor() as cursor:
        # SQLite's table of parts has no values of its own: its other tables have them.
        tables = connection.introspection.table_names(cursor)
        for table in set(tables) - {"tracking_conversion_external_id_parts"}:
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - our own tables
            names = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                for name, value in zip(names, row, strict=True):
                    if isinstance(value, str | bytes | memoryview | dict | list):
                        text = read_plainly(value)
                        if any(mark in text for mark in marks):
                            found.add((table, name))
    return found
