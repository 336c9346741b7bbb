"""Telling: an explanation in words, for eyes at a terminal and in the back office."""

from decimal import Decimal
from typing import Any

from accounts.exact_json import plain
from payouts.services.explaining import Explanation


def story_of(told: Explanation) -> list[str]:
    """From the clues to the cent, line by line."""
    sale = told.conversion
    named = f" ({sale['external_id']})" if sale["external_id"] else ""
    lines = [
        f"Conversion {sale['id']}{named}: {plain(sale['amount'])} {sale['currency']}"
        f" in {sale['program']}, {sale['created_at']:%Y-%m-%d %H:%M:%S} UTC",
    ]
    if sale["removed_at"]:
        lines.append(f"  removed {sale['removed_at']:%Y-%m-%d %H:%M:%S} UTC")
    if sale["warnings"]:
        lines.append(f"  warnings: {', '.join(sale['warnings'])}")
    return [*lines, *_clues(told.attribution), *_commissions(told)]


def _clues(attribution: dict[str, Any]) -> list[str]:
    winner = attribution["winner"]
    lines = [f"Earned by {winner['affiliate']}: {winner['clue']} decided"]
    if attribution["late_by"]:
        lines.append(f"  late by {attribution['late_by']}, which was to be ignored")
    lines += [
        f"  {loser['clue']} {loser['value']}"
        f" → {loser['affiliate'] or 'nobody'}: {loser['reason']}"
        for loser in attribution["losers"]
    ]
    return lines


def _commissions(told: Explanation) -> list[str]:
    return [line for it in told.commissions for line in _commission(it)]


def _commission(it: dict[str, Any]) -> list[str]:
    rate = it["rate"]
    share = plain(Decimal(rate["value"]))
    times = f"{share} %" if rate["kind"] == "percentage" else "fixed"
    by_hand = ", set by hand" if it["set_by_hand"] else ""
    lines = [
        f"Commission {it['id']} ({it['commission_type']}) for {it['affiliate']}:"
        f" {plain(it['sub_amount'])} at {times} = {plain(it['exact'])}"
        f" → {plain(it['amount'])} {it['currency']}{by_hand}",
        f"  rate: {rate['from']}",
        f"  born {it['born']['status']}: {it['born']['reason']}",
    ]
    lines += [
        f"  level {over['level']} passed over {over['affiliate']}: {over['reason']}"
        for over in it["passed_over"]
    ]
    lines += [
        f"  {move['created_at']:%Y-%m-%d %H:%M:%S} {move['kind']}:"
        f" {move['from']} → {move['to']} {plain(move['amount'])}"
        for move in it["transfers"]
    ]
    covered = f", paid by {it['payment']}" if it["payment"] else ""
    return [*lines, f"  now {it['status']}{covered}"]


def proof_of(told: Explanation) -> list[str]:
    """Whether deciding and reckoning again came to the same."""
    if told.differences:
        return ["Decided and reckoned again: NOT the same"]
    return ["Decided and reckoned again: the same"]
