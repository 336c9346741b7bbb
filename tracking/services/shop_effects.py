"""What events of shops did: sentences, and data that sentences are made from."""

from typing import TypedDict

from tracking.models.shops import ShopOrderReason

MAX_NAMED_CODES, MAX_CODE_LENGTH = 5, 60


class UnknownCodes(TypedDict):
    """The codes of a sale that no affiliate of the program, or of any, has.

    They are texts of the shop, such as its own ID of a customer. `more` is the number
    of those that are not named.
    """

    program: str
    codes: list[str]
    more: int


Effect = str | UnknownCodes


def list_unknown_codes(codes: list[str], *, program: str) -> UnknownCodes:
    """Return the codes as they are stored."""
    named = [code[:MAX_CODE_LENGTH] for code in codes[:MAX_NAMED_CODES]]
    return {"program": program, "codes": named, "more": len(codes) - len(named)}


def describe_effect(effect: Effect) -> str:
    """Return the sentence that staff see."""
    if isinstance(effect, str):
        return effect
    named = [f"“{code}”" for code in effect["codes"]]
    if effect["more"]:
        named.append(f"{effect['more']} more")
    listed = " or ".join(filter(None, [", ".join(named[:-1]), named[-1]]))
    program = f" of {effect['program']}" if effect["program"] else ""
    return f"Nobody referred this customer: no affiliate{program} has {listed}."


def forget_codes(effect: Effect) -> str:
    """Return the sentence without the codes."""
    return effect if isinstance(effect, str) else ShopOrderReason.NO_REFERRAL.label
