"""Read another server that speaks the public API 1.6, politely.

One request at a time, to the host that was named only. Limits are obeyed, broken
connections and errors of the server tried again.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from accounts.decimals import parse_decimal

MAX_BODY_BYTES = 20_000_000
MAX_FAILURES = 6  # of one request
MAX_WAIT_SECONDS = 15 * 60  # for one request, until the source answers again
MAX_READINGS = 5  # of a list that changes meanwhile
RETRY_SECONDS = 2
TIMEOUT_SECONDS = 60
TOO_MANY_REQUESTS, SERVER_ERRORS = 429, range(500, 600)
NOT_FOUND = 404
FORBIDDEN = httpx.codes.FORBIDDEN
LISTS_OF_SOME_PLANS = ("/levels/", "/bonuses/")

Row = dict[str, Any]


class SourceError(Exception):
    """The source cannot be read on; the message says why. Run the import again."""


class SourceFails(Exception):
    """A request failed, and may succeed later."""


class SourceLimits(Exception):
    """The source takes the next request in some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class SourceServer:
    """A server of the API 1.6; `base_url` ends with the version, like `…/1.6`."""

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        wait: Callable[[float], object] = time.sleep,
        on_pause: Callable[[str], object] = lambda text: None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        url = httpx.URL(base_url)
        if url.scheme not in ("http", "https") or not url.host:
            raise SourceError(f"{base_url!r} is not an address like https://host/1.6")
        self.base_url = base_url.rstrip("/")
        self.host = url.netloc.decode()
        self.wait = wait
        self.on_pause = on_pause  # gets a line that says what is read again, and when
        self.request_count = 0
        self.unstable: set[str] = set()  # lists that changed during each reading
        self.totals: dict[str, int] = {}  # about how many rows a list has, by path
        self.client = httpx.Client(
            headers={"X-Api-Key": key, "Accept": "application/json"},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
        )

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON at a path; None if there is nothing. Raises `SourceError`."""
        return self._request(path, query)[0]

    def list_rows(self, path: str) -> Iterator[Row]:
        """Yield the rows of a list, the oldest first.

        Lists are the newest first, so the last page is read first. A list that changed
        meanwhile is read again; rows may come twice.
        """
        for _ in range(MAX_READINGS):
            first, last_page = self._read_page(path, 1)
            self.totals[path] = len(first) * last_page  # the last one may be shorter
            for number in range(last_page, 1, -1):
                page = self._read_page(path, number)[0]
                if not page:
                    self.unstable.add(path)
                yield from reversed(page)
            yield from reversed(first)
            if last_page == 1 or self._read_page(path, 1) == (first, last_page):
                return
        self.unstable.add(path)

    def _read_page(self, path: str, number: int) -> tuple[list[Row], int]:
        rows, headers = self._request(path, {"page": number})
        if rows is None:
            self.unstable.add(path)  # nothing may be concluded from what it lacks
            return [], 1
        if not isinstance(rows, list) or not all(isinstance(it, dict) for it in rows):
            raise SourceError(f"{hide_ids(path)} answered no list of objects")
        return rows, find_last_page(headers.get("Link", ""), number)

    def _request(self, path: str, query: Row) -> tuple[Any, httpx.Headers]:
        waited, failures = 0.0, 0
        while True:
            self.request_count += 1
            try:
                return self._fetch(path, query)
            except SourceLimits as limit:
                pause, problem = limit.seconds, "it limits requests"
            except (httpx.HTTPError, SourceFails) as error:
                failures += 1
                pause = float(RETRY_SECONDS * 2**failures)
                problem = str(error) or type(error).__name__
            if failures >= MAX_FAILURES or waited + pause > MAX_WAIT_SECONDS:
                raise SourceError(f"{hide_ids(path)} could not be read: {problem}")
            self.on_pause(f"{hide_ids(path)}: {problem}; again in {pause:.0f} s")
            self.wait(pause)
            waited += pause

    def _fetch(self, path: str, query: Row) -> tuple[Any, httpx.Headers]:
        status, headers, body = self._receive(path, query)
        is_outside_plan = status == FORBIDDEN and path.endswith(LISTS_OF_SOME_PLANS)
        if status == NOT_FOUND or is_outside_plan:
            return None, headers
        if status == TOO_MANY_REQUESTS:
            raise SourceLimits(find_pause(headers))
        if status in SERVER_ERRORS:
            raise SourceFails(f"answered {status}")
        if status != httpx.codes.OK:
            raise SourceError(f"{hide_ids(path)} answered {status}")
        try:
            parsed = json.loads(body, parse_float=parse_decimal)
        except (ValueError, RecursionError):
            raise SourceFails("answered something that is not JSON") from None
        if headers.get("X-RateLimit-Remaining") == "0":
            self.wait(min(find_pause(headers), MAX_WAIT_SECONDS))
        return parsed, headers

    def _receive(self, path: str, query: Row) -> tuple[int, httpx.Headers, bytes]:
        url = f"{self.base_url}/{path}"
        with self.client.stream("GET", url, params=query) as response:
            if response.is_redirect:
                raise SourceError(
                    f"{hide_ids(path)} leads to another address, which is not followed"
                )
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise SourceError(f"{hide_ids(path)} answered more than 20 MB")
            return response.status_code, response.headers, body


def find_last_page(link: str, number: int) -> int:
    """Return the number of the last page that a `Link` header names."""
    for part in link.split(","):
        address, _, relation = part.partition(";")
        if 'rel="last"' in relation:
            page = httpx.URL(address.strip(" <>")).params.get("page", "")
            if page.isdecimal() and len(page) < len(str(10**7)):
                return max(int(page), number)
    return number


def hide_ids(path: str) -> str:
    """Return `affiliates/*/notes/` of the notes of a person, for messages and logs."""
    steps = path.split("/")
    steps[1::2] = ["*" if step else "" for step in steps[1::2]]
    return "/".join(steps)


def find_pause(headers: httpx.Headers) -> float:
    """Return the seconds until the source takes another request."""
    for name in ("Retry-After", "X-RateLimit-Reset"):
        text = headers.get(name, "")
        if text.isdecimal():
            seconds = float(text)
            if seconds > time.time() / 2:  # a moment, not a duration
                seconds -= time.time()
            return max(seconds, 1.0)
    return 30.0
