"""Fill in forms as a browser does."""


def get_form(client, url):
    """The values of a form as a browser would send them back."""
    context = client.get(url).context
    values = {
        name: "on" if value is True else value
        for name, value in context["form"].initial.items()
        if value not in (None, False)
    }
    return values | {"version": context["version"]}
