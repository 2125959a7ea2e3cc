"""The documents of the repository, cut into what can be checked: code blocks, tables, links, headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Document:
    """One Markdown file."""

    path: Path

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """Without fenced code."""
        return re.sub(r"^```.*?^```$", "", self.text, flags=re.M | re.S)

    def blocks(self, *languages: str) -> list[str]:
        """Fenced code of these languages (``""``: none named)."""
        found = re.findall(r"^```(\w*)\n(.*?)^```$", self.text, flags=re.M | re.S)
        return [code for language, code in found if language in languages]

    def section(self, heading: str) -> str:
        """The text below a heading, down to the next one of its level or above."""
        match = re.search(rf"^(#+) {re.escape(heading)}$", self.text, flags=re.M)
        assert match, f"{self.path.name} has no heading {heading!r}"
        rest = self.text[match.end() :]
        end = re.search(rf"^#{{1,{len(match[1])}}} ", rest, flags=re.M)
        return rest[: end.start()] if end else rest

    def tables(self, heading: str) -> list[list[list[str]]]:
        """Tables below a heading: rows of cells, the heading row included, the line under it not."""
        tables: list[list[list[str]]] = [[]]
        for line in self.section(heading).splitlines():
            if line.startswith("|"):
                tables[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
            elif tables[-1]:
                tables.append([])
        return [[row for row in table if not row[0].startswith("-")] for table in tables if table]

    def table(self, heading: str) -> dict[str, list[str]]:
        """The one table below a heading: rows by their first cell, its heading row left out."""
        (table,) = self.tables(heading)
        return {row[0]: row[1:] for row in table[1:]}

    @property
    def anchors(self) -> set[str]:
        """What a link behind # can name, by GitHub's rule."""
        headings = re.findall(r"^#+ (.*)$", self.prose, flags=re.M)
        return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

    @property
    def links(self) -> list[str]:
        return re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", self.prose)


def names_in(text: str) -> list[str]:
    """What stands in code quotes."""
    return re.findall(r"`([^`]+)`", text)


def documents() -> Iterator[Document]:
    yield from map(Document, [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes ``document`` runs once for each."""
    if "document" in metafunc.fixturenames:
        found = list(documents())
        metafunc.parametrize("document", found, ids=[one.path.name for one in found])


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def readme() -> Document:
    return Document(ROOT / "README.md")


@pytest.fixture(scope="session")
def contributing() -> Document:
    return Document(ROOT / "CONTRIBUTING.md")


@pytest.fixture(scope="session")
def experiments() -> Document:
    return Document(ROOT / "docs" / "experiments.md")


@pytest.fixture(scope="session")
def checks() -> Document:
    return Document(ROOT / "docs" / "checks.md")


@pytest.fixture(scope="session")
def tables() -> Document:
    return Document(ROOT / "docs" / "tables.md")


@pytest.fixture(scope="session")
def clocks() -> Document:
    return Document(ROOT / "docs" / "clocks.md")


@pytest.fixture(scope="session")
def protocol() -> Document:
    return Document(ROOT / "docs" / "protocol.md")


@pytest.fixture(scope="session")
def node() -> Document:
    return Document(ROOT / "docs" / "node.md")


@pytest.fixture(scope="session")
def security() -> Document:
    return Document(ROOT / "docs" / "security.md")


@pytest.fixture(scope="session")
def clients() -> Document:
    return Document(ROOT / "docs" / "clients.md")


@pytest.fixture(scope="session")
def document_of() -> Callable[[str], Document]:
    """A page of the documentation by its name."""
    return lambda name: Document(ROOT / "docs" / f"{name}.md")
