"""Pages of one file: templates, style and script put together, with a policy that allows nothing else.

Every page extends ``base.html.j2``. A recording's names are data: templates escape them, and the page's content
security policy names the script and the style by their digests, so that a browser runs and applies no others.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_PACKAGE: Final = "highwater_chaos.report"
_ASSETS: Final = "assets"
_STYLES: Final = ("page.css", "timeline.css")
_SCRIPTS: Final = ("page.js", "timeline.js")


def render_page(template: str, /, *, package: str = _PACKAGE, folder: str = _ASSETS, **values: Any) -> str:
    """Render a page. ``package`` and ``folder`` have the template, which may extend and include this package's."""
    return _environment(package, folder).get_template(template).render(values)


@cache
def _environment(package: str, folder: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, folder), PackageLoader(_PACKAGE, _ASSETS)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style, script = _joined(_STYLES), _joined(_SCRIPTS)
    environment.globals.update(
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'",
    )
    return environment


def _joined(names: tuple[str, ...]) -> str:
    folder = files(_PACKAGE) / _ASSETS
    return "\n" + "".join((folder / name).read_text(encoding="utf-8") for name in names)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
