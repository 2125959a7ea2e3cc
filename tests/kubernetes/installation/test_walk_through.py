"""The pages on Kubernetes and the READMEs beside what they describe: files that exist, and rights that are granted."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator

import pytest

from .conftest import JUDGING, ROOT, Key, Object, by_key, resources

GUIDES = ("docs/kubernetes.md", "docs/kubernetes-reference.md")
DOCUMENTS = (*GUIDES, "docs/upgrading.md", "images/README.md", "manifests/README.md", "helm/README.md")
OWN = "in its own namespace"


def lines(document: str) -> list[list[str]]:
    text = (ROOT / document).read_text()
    blocks = re.findall(r"^```console\n(.*?)^```$", text, flags=re.M | re.S)
    return [shlex.split(line.removeprefix("$ ")) for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_in_commands_are_there(document):
    found = lines(document)
    assert found
    for words in found:
        assert words[0] in {"kind", "kubectl", "helm", "images/build", "ctr", ".venv/bin/highwater"}, words
        for word in words:
            if re.match(r"(manifests|helm|images|scripts|scenarios)/", word):
                assert (ROOT / word).exists(), word
        if "-k" in words:
            assert (ROOT / words[words.index("-k") + 1] / "kustomization.yaml").is_file()


def test_names_in_commands_are_those_of_what_is_installed(base):
    from .conftest import documents

    samples = {
        (sample["kind"].lower(), sample["metadata"]["name"])
        for path in (ROOT / "manifests/samples").glob("*.yaml")
        for sample in documents(path.read_text())
    }
    installed = {(kind.lower(), name) for kind, name in base}
    named = [
        word for guide in GUIDES for words in lines(guide) for word in words if re.fullmatch(r"[a-z]+/[a-z0-9-]+", word)
    ]
    objects = [tuple(word.split("/")) for word in named if not (ROOT / word).exists()]
    assert len(objects) >= 5
    for kind, name in objects:
        pair = ("chaosexperiment" if kind == "cx" else kind, name)
        assert pair in samples | installed, pair


def test_what_may_be_gone_by_itself_does_not_make_deleting_fail(base):
    leaves_by_itself = [name for (kind, name), obj in base.items() if "ttlSecondsAfterFinished" in obj.get("spec", {})]
    assert leaves_by_itself == ["highwater-agent-token"]
    deleting = [words for document in DOCUMENTS for words in lines(document) if "delete" in words and "-k" in words]
    assert deleting
    for words in deleting:
        assert "--ignore-not-found" in words, words


def granted(base: dict[Key, Object]) -> set[tuple[str, str, str, bool]]:
    """Who may do what on what, and whether in its own namespace only."""
    found = set()
    for (kind, name), obj in base.items():
        if kind not in {"Role", "ClusterRole"}:
            continue
        who = name.removeprefix("highwater-")
        for rule in obj["rules"]:
            for verb, resource in itertools.product(rule["verbs"], rule["resources"]):
                found.add((who, verb, resource, kind == "Role"))
    return found


def told() -> Iterator[tuple[str, str, str, bool]]:
    text = (ROOT / "docs/kubernetes-reference.md").read_text()
    section = text[text.index("## Rights") : text.index("## What is refused")]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")][2:]
    for who, verbs, on, because in rows:
        assert because
        account = who.removeprefix("Job `highwater-").removesuffix("`")
        for verb, resource in itertools.product(verbs.split(", "), re.findall(r"`([^`]+)`", on)):
            yield account, verb, resource, OWN in on


def test_the_table_of_rights_is_what_is_granted(base):
    actual, said = granted({**base, **by_key(resources(JUDGING))}), set(told())
    # The Role in its own namespace repeats what the ClusterRole grants on pods, for an operator without one.
    repeated = {one for one in actual if one[3] and (*one[:3], False) in actual}
    assert said - actual == set()
    assert actual - repeated - said == set()
