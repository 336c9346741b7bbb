"""The values of a form page, as a browser would send them back."""


def get_version(client, url) -> dict[str, str]:
    """What a form page sends to say which values it had shown."""
    return {"version": client.get(url).context["version"]}


def get_form_values(client, url) -> dict:
    """Open a form page; unchecked boxes and empty choices are not sent."""
    context = client.get(url).context
    form = context["form"]
    values = {name: form[name].value() for name in form.fields}
    sent = {
        name: "on" if value is True else getattr(value, "pk", value)
        for name, value in values.items()
        if value not in (None, False)
    }
    return sent | ({"version": context["version"]} if context["version"] else {})
