"""README.md leads from each document to its code, and lists the pages as the site does."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from highwater_chaos.base.distribution import DISTRIBUTION
from highwater_chaos.experiment import load_experiment
from highwater_chaos.verdict.verdict import expectation_for
from highwater_runtime.switches import SWITCHES


def test_each_document_leads_to_a_switch_a_scenario_and_a_module(readme: Any, root: Path) -> None:
    (table,) = readme.tables("From a document to the code")
    shown: set[str] = set()
    for document, switch, scenario, code in table[1:]:
        name, _, value = switch.strip("`").partition("=")
        assert value in SWITCHES[name].values[1:], switch
        assert document.split(",")[0] in SWITCHES[name].source or document.startswith("KAFKA-6361")
        spec = load_experiment(root / link_of(scenario)).spec
        assert expectation_for(spec, {name: value}).verdict == "fail", scenario
        assert expectation_for(spec, {name: SWITCHES[name].default}).verdict == "pass", scenario
        module = link_of(code)
        assert module.startswith("runtime/highwater_runtime/")
        assert module.endswith(f"/{code[1 : code.index(']')]}")
        assert (root / module).is_file(), module
        shown.add(name)
    documents = ("KIP-903", "KIP-650", "KAFKA-7362", "Detailed Replication Design V3,")
    assert shown >= {name for name, one in SWITCHES.items() if one.source.startswith(documents)}


def test_pages_are_in_the_order_of_the_site(readme: Any, root: Path) -> None:
    """A page that is new in one of both is missing in the other."""
    page_of = runpy.run_path(str(root / "scripts/site_pages.py"))["page_of"]
    navigation = (root / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    _, *pages = re.findall(r": (\S+\.md)$", navigation, flags=re.M)
    assert [page_of(link_of(row)) for row in readme.table("Read more")] == pages


def test_a_page_for_one_task_is_short(document_of: Any, root: Path) -> None:
    """What is looked up is a page of reference; what concerns maintainers is theirs."""
    navigation = (root / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2].partition("  - Reference:")[0]
    pages = re.findall(r": (\S+)\.md$", navigation, flags=re.M)[1:]
    words = {page: len(re.findall(r"\S*\w\S*", document_of(page).text)) for page in pages}
    assert len(words) > 15
    assert {page: count for page, count in words.items() if count > 1_500} == {}


def test_the_distribution_has_one_name_everywhere(root: Path) -> None:
    """`highwater` on PyPI is another project's: whoever installed `highwater[pipeline]` would get that."""
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["name"] == DISTRIBUTION
    wrong = ["git", "grep", "-nE", r"highwater\[[a-z]|pip install .?highwater['\" ]|(version|requires)\(.highwater.\)"]
    found = subprocess.run(wrong, cwd=root, capture_output=True, text=True, check=False).stdout.splitlines()
    assert [line for line in found if not line.startswith("tests/docs/test_readme.py")] == []


def link_of(cell: str) -> str:
    return cell[cell.index("](") + 2 : -1]
