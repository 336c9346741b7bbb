"""The code that a shop puts into its pages."""

from django.conf import settings

SNIPPET = """\
<script src="{url}/tap.js" async></script>
<script>
  (function (w, n) {{
    w.TapfiliateObject = n;
    w[n] = w[n] || function () {{ (w[n].q = w[n].q || []).push(arguments); }};
  }})(window, "tap");
  tap("create", "{account}");
  tap("detect");
</script>"""


def render_snippet(account) -> str:
    """The code for every page of an account's shop."""
    return SNIPPET.format(url=settings.PUBLIC_URL, account=account.slug)
