"""The documentation site builds. Broken links, broken anchors and unlisted pages fail the build."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/report"))
from headless_browser import CHROMIUM, browser  # noqa: E402

ENVIRONMENT = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}


def build(configuration: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", configuration, "--site-dir", site]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def plain(folder: Path, docs: Path, more: str) -> Path:
    """The site's configuration with neither a theme of its own nor colours in code, which take most of the time."""
    configuration = folder / "mkdocs.yml"
    slugs = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
    configuration.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {docs}\n"
        "theme: {name: mkdocs}\nplugins: []\nmarkdown_extensions:\n  - tables\n  - admonition\n"
        "  - pymdownx.superfences\n  - pymdownx.highlight: {use_pygments: false}\n"
        f"  - toc:\n      permalink: true\n      slugify: {slugs}\n{more}",
        encoding="utf-8",
    )
    return configuration


def test_the_site_builds_with_every_page_and_linked_source(tmp_path: Path, thorough: bool) -> None:
    """``make test`` builds it plain: with the same pages, links and anchors."""
    site = tmp_path / "site"
    hooks = f"hooks: [{ROOT / 'scripts/site_pages.py'}]\n"
    done = build(ROOT / "mkdocs.yml" if thorough else plain(tmp_path, ROOT / "docs", hooks), site)
    assert done.returncode == 0, done.stderr
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page
    assert "HW" in (site / "source/runtime/highwater_runtime/broker/isr.py.html").read_text(encoding="utf-8")
    if thorough and CHROMIUM is not None:
        found = searched(site / "internals/laboratory.html", "does min ISR hold", tmp_path / "profile")
        assert found[:2] == ["Recipes", "Does min ISR hold?"]


def searched(page: Path, words: str, profile: Path) -> list[str]:
    """The headings that the site's search finds, of a page that is opened as a file. Sources are not searched."""
    box = "document.querySelector('input.md-search__input')"
    found = "[...document.querySelectorAll('.md-search-result__item :is(h1, h2)')].map(one => one.innerText)"
    deadline = time.monotonic() + 30
    with browser(profile) as tab:
        tab.open(page)
        tab.value("document.querySelector('#__search').click()")
        tab.value(f"{box}.focus(), {box}.value = '{words}'")
        while not (headings := tab.value(found)) and time.monotonic() < deadline:
            tab.value(f"{box}.dispatchEvent(new Event('keyup', {{bubbles: true}}))")
            tab.settle()
    return [str(one) for one in headings]


def test_what_breaks_the_site_fails_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text("# Page\n\n[a](nowhere.md) [b](nowhere.py) [c](#nowhere)\n", encoding="utf-8")
    (pages / "unlisted.md").write_text("# Page\n", encoding="utf-8")
    done = build(plain(tmp_path, pages, "hooks: []\nnav: [{Page: index.md}]\n"), tmp_path / "site")
    assert done.returncode != 0
    for complaint in ("'nowhere.md'", "'nowhere.py'", "#nowhere", "unlisted.md"):
        assert complaint in done.stderr
