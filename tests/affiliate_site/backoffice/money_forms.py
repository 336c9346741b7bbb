"""Forms that move money, as a browser sends and confirms them."""

from django.urls import reverse


def page_url(row, name):
    opts = row._meta
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_{name}", args=[row.pk])


def get_entries(client, url):
    """The values of a form as a browser would send them, with a reason if it asks."""
    context = client.get(url).context
    form = context["form"]
    values = {
        name: "on" if value is True else value
        for name, value in form.initial.items()
        if value not in (None, False, {})
    }
    if "reason" in form.fields:
        values["reason"] = "It was wrong."
    return values | {"version": context["version"]}


def submit(client, url, **entries):
    """Send a form with these entries; returns what it sent and the response."""
    sent = get_entries(client, url) | entries
    return sent, client.post(url, sent)


def confirm(client, url, sent, shown):
    """Press the button of the page that says what moves."""
    hidden = {
        "effects": shown.context["effects"].digest,
        "token": shown.context["token"],
    }
    return client.post(url, sent | hidden, follow=True)


def submit_and_confirm(client, url, **entries):
    return confirm(client, url, *submit(client, url, **entries))


def list_messages(response):
    return [str(message) for message in response.context["messages"]]
