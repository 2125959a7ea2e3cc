"""Complete the documentation site: pages from the repository's root, and the source files that pages link to.

MkDocs reads this file as a hook (``mkdocs.yml``). Pages link to source files by relative paths. The repository has no
public address, so the site shows each linked file on a page of its own. A link to a missing file stays as it is, and
``mkdocs build --strict`` reports it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
    "CHANGELOG.md": "changelog.md",
}
LANGUAGES = {".py": "python", ".yaml": "yaml", ".properties": "properties"}
NOT_SEARCHED = "---\nsearch: {exclude: true}\n---\n"
"""Else the search shows source files before the pages that explain them."""
SEARCHED_LAST = {"CHANGELOG.md": "---\nsearch: {boost: 0.2}\n---\n"}
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")


def page_of(path: str) -> str:
    """Return the site's page for a path in the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return PAGES.get(path, f"source/{path}.md")


def with_site_links(text: str, path: str, linked: set[str]) -> str:
    """Rewrite the relative links of the repository's file ``path``, and add what they lead to to ``linked``."""
    here = posixpath.dirname(page_of(path))

    def rewrite(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link[1]))
        if not (ROOT / target).exists():
            return link[0]
        linked.add(target)
        return posixpath.relpath(page_of(target), here or ".") + (link[2] or "")

    return LINK.sub(rewrite, text)


def source_page(path: str) -> str:
    """Return the page that shows a source file, or the list of what is in a folder."""
    source = ROOT / path
    if source.is_dir():
        names = sorted(one.name for one in source.iterdir() if not one.name.startswith(("_", ".")))
        return "\n".join([NOT_SEARCHED, f"# {path}", "", *(f"* `{name}`" for name in names)])
    language = LANGUAGES.get(source.suffix, "text")
    code = f"``````{language}\n{source.read_text(encoding='utf-8')}\n``````\n"
    return f"{NOT_SEARCHED}\n# {source.name}\n\n`{path}`\n\n{code}"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that do not lie in ``docs``."""
    linked: set[str] = set()
    for path in [*PAGES, *(f"docs/{file.src_uri}" for file in files.documentation_pages())]:
        text = with_site_links((ROOT / path).read_text(encoding="utf-8"), path, linked)
        old = files.get_file_from_path(page_of(path))
        if old is not None:
            files.remove(old)
        files.append(File.generated(config, page_of(path), content=SEARCHED_LAST.get(path, "") + text))
    for path in sorted(linked):
        if not path.startswith("docs/") and path not in PAGES:
            page = File.generated(config, page_of(path), content=source_page(path))
            page.inclusion = page.inclusion.NOT_IN_NAV
            files.append(page)
    return files
