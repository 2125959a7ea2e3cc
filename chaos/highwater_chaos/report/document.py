"""One HTML page as one file: its style and its script stand in it, and its policy lets a browser load and run nothing
else, whatever a recording holds."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_HERE: Final = "highwater_chaos.report"


def document(template: str, package: str = _HERE, **values: Any) -> str:
    """The page that ``template`` of ``package`` makes of ``values``. It extends ``document.html.j2``."""
    style, script = (resources.files(_HERE).joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(_HERE, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    policy = (
        f"default-src 'none'; style-src {_hash_of(style)}; script-src {_hash_of(script)}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    return environment.get_template(template).render(
        style=Markup(style),  # noqa: S704 - a file of ours
        script=Markup(script),  # noqa: S704 - a file of ours
        policy=policy,
        **values,
    )


def _hash_of(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
