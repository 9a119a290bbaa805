"""Templates: every text is escaped, an unknown name is an error, and filters make the rest."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from brenner import __version__
from brenner.web import charts, filters, links
from brenner.web.assets import Asset, load
from brenner.web.page import Page
from brenner.web.visit import Visit

_FOLDER = Path(__file__).parent / "templates"


@cache
def assets() -> Mapping[str, Asset]:
    """The assets of this program."""
    return load()


@cache
def environment() -> Environment:
    """The templates, compiled when they are first used."""
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(filters.FILTERS)
    made.filters.update(charts.CHARTS)
    made.globals.update(
        links=links,
        asset={name: asset.url for name, asset in assets().items()},
        program_version=__version__,
    )
    return made


def html(page: Page, visit: Visit) -> str:
    """The page as a browser gets it."""
    template = environment().get_template(page.template)
    return template.render(
        title=page.title,
        page=page.document,
        is_live=page.is_live,
        place=visit.site.reading.place,
        site=visit.site.about,
        is_lab=visit.site.is_lab,
        login=visit.login,
        is_guest=visit.guest_of is not None,
        is_stranger=visit.guest_of == frozenset(),
        path=visit.path,
        asked=visit.asked,
        now=visit.now,
    )
