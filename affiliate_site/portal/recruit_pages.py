"""Tell others: the recruiting link of an affiliate, and what recruits bring."""

from operator import itemgetter
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from affiliate_site.columns import Table
from affiliate_site.portal.access import portal_page, show
from affiliate_site.portal.tables import build_column, build_number_column, download
from payouts.services.figures import (
    MAX_RECRUITS_OF_FILE,
    list_recruits,
    sum_level_commissions,
)
from tracking.models.programs import Visibility
from tracking.services.portal_settings import build_portal_url
from tracking.written_amounts import write_amount


def build_recruiting_link(affiliate) -> str:
    """The page where others apply; its parameter `by` is the ID of who recruited."""
    query = urlencode({"by": affiliate.slug})
    return build_portal_url(affiliate.account, f"apply/?{query}")


def list_programs(account) -> list[tuple[str, bool]]:
    """The title of each program, and whether the sales of recruits earn there."""
    levels = account.levels.filter(program=OuterRef("pk"))
    programs = account.programs.filter(archived_at=None, visibility=Visibility.PUBLIC)
    programs = programs.annotate(pays=Exists(levels)).order_by("title")
    return list(programs.values_list("title", "pays"))


def name_level(level: int) -> str:
    """Whose sales a level are."""
    if level == 1:
        return _("Level 1: recruited by you")
    if level == 2:
        return _("Level 2: recruited by your recruits")
    text = _("Level {level}: recruited by affiliates of level {above}")
    return text.format(level=level, above=level - 1)


@portal_page()
def recruits(request):
    """The link, the recruits, and what their sales earn."""
    affiliate, with_sales = request.affiliate, bool(request.portal.shows_recruit_sales)
    if not request.account.plan.mlm:
        raise Http404
    if "file" in request.GET:
        return download_recruits(request, with_sales=with_sales)
    found = list_recruits(affiliate, with_sales=with_sales)
    programs = list_programs(request.account)
    paying = [title for title, has_levels in programs if has_levels]
    context = {
        "title": _("Tell others"),
        "link": build_recruiting_link(affiliate),
        "recruits": found,
        "with_sales": with_sales,
        "has_levels": bool(paying),
        "paying": "" if len(paying) == len(programs) else ", ".join(paying),
        "levels": [
            (
                name_level(level),
                [write_amount(amount, currency) for currency, amount in sums.items()],
            )
            for level, sums in sum_level_commissions(affiliate).items()
        ],
    }
    return show(request, "recruits", context)


def download_recruits(request, *, with_sales: bool):
    """All recruits, as the page shows them."""
    found = list_recruits(request.affiliate, with_sales=with_sales, limit=MAX_RECRUITS_OF_FILE)
    columns = [
        build_column(_("First name"), itemgetter(0)),
        build_number_column(_("Sales of all time"), itemgetter(1)),
    ]
    day = request.account.get_day(timezone.now())
    table = Table(_("Your recruits"), columns if with_sales else columns[:1], found.newest)
    return download(table, f"recruits-{day}")
