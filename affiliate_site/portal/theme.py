"""The color of an account on the pages of its portal, where it can be read."""

WHITE, DARK = "#ffffff", "#111827"
BLACK = "#000000"  # the default of accounts: no color was chosen
MIN_CONTRAST = 4.5  # WCAG 2.2, AA
LIGHT_PAGE, DARK_PAGE = "#f9fafb", "#111827"  # as in portal.css


def build_stylesheet(color: str) -> str:
    """The rules that replace the colors of portal.css; `color` is `#rrggbb`."""
    text = max((WHITE, DARK), key=lambda each: get_contrast(color, each))
    rules = f":root{{--button:{color};--on-button:{text}}}\n"
    link = f":root{{--link:{color}}}"
    if get_contrast(color, LIGHT_PAGE) >= MIN_CONTRAST:
        rules += f"@media (prefers-color-scheme:light){{{link}}}\n"
    if get_contrast(color, DARK_PAGE) >= MIN_CONTRAST:
        rules += f"@media (prefers-color-scheme:dark){{{link}}}\n"
    return rules


def get_contrast(one: str, other: str) -> float:
    """The contrast ratio of two colors, from 1 to 21."""
    darker, lighter = sorted(map(get_luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def get_luminance(color: str) -> float:
    """The relative luminance of `#rrggbb`, from 0 to 1."""
    shares = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
