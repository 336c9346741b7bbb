"""Queries of postbacks by GET."""


def flatten_to_query(data, name=""):
    """Yield the query parameters of an object, with brackets."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from flatten_to_query(value, f"{name}[{key}]" if name else key)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from flatten_to_query(value, f"{name}[{index}]")
    else:
        yield name, str(data).lower() if isinstance(data, bool) else data
