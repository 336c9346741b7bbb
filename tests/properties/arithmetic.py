"""The rules of docs/api-contract.md about amounts, in whole minor units."""


def calculate_commission(units: int) -> int:
    """Calculate 7.5 % of minor units, rounded half up."""
    return (units * 75 * 2 + 1000) // 2000


def allocate(parts: list[int], *, old_total: int, new_total: int, is_complete: bool) -> list[int]:
    """Scale the parts of a changed total (section 2.2.6)."""
    if not old_total:
        return [new_total, *[0] * (len(parts) - 1)] if parts else []
    if is_complete and len(parts) == 1:
        return [new_total]
    scaled = [(2 * part * new_total + old_total) // (2 * old_total) for part in parts]
    if not is_complete or sum(parts) != old_total:
        return scaled
    remaining, allocated = new_total, []
    for share in scaled[:-1]:
        allocated.append(min(share, remaining))
        remaining -= allocated[-1]
    return [*allocated, remaining]
