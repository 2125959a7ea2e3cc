"""A file that a stranger wrote is refused in a sentence with its line, before much is built from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_chaos.experiment import ExperimentError, load_experiment, yaml_text

SCENARIOS = Path(__file__).parents[2] / "scenarios"

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)

REFUSED = {
    "a part that is repeated and repeated": (LAUGHS, "f.yaml:6: expected at most 100,000 values"),
    "many values": ("a: [" + "1," * 100_000 + "]", "f.yaml:1: expected at most 100,000 values"),
    "a part that repeats itself": ("a: 1\nb: &b [*b]", r"f.yaml:2: \*b repeats itself"),
    "a part without a name": ("a: 1\nb: *c", r"f.yaml:2: \*c repeats what has not been named"),
    "lists within lists": ("a: " + "[" * 5000 + "]" * 5000, "f.yaml:1: is nested too deeply: expected at most 100"),
    "mappings within mappings": ("a: " + "{a: " * 3000 + "1" + "}" * 3000, "f.yaml:1: is nested too deeply"),
    "a number of 5,000 digits": ("a:\n  b: " + "9" * 5000, r"f.yaml:2: expected .* type 'int' .* \(5,000 characters\)"),
    **{
        f"a number in {base}, {len(text):,} characters": (
            f"a:\n  b: {text}",
            f"f.yaml:2: expected .* {kind!r} can hold",
        )
        for base, kind, text in [
            ("hex", "int", "0x" + "f" * 300_000),
            ("binary", "int", "-0b" + "1_" * 400_000 + "1"),
            ("octal", "int", "0" + "7" * 900_000),
            ("sixties", "int", ":".join(["59"] * 50_000)),
            ("sixties", "float", ":".join(["59"] * 50_000) + ".5"),
            ("tens", "float", "9" * 400_000 + ".5"),
            ("hex", "int", "0x" + "f" * 99),
        ]
    },
    **{
        f"tag {tag} for what is none": (f"a:\n  b: !!{tag} {text}", f"f.yaml:2: expected .* {tag!r} can hold")
        for tag, text in [
            ("int", '""'),
            ("int", "_"),
            ("int", '"-"'),
            ("int", "0x"),
            ("float", '""'),
            ("bool", "x"),
            ("timestamp", "x"),
        ]
    },
    "a day that is none": ("a:\n  b: 2020-99-99", "f.yaml:2: expected .* type 'timestamp' can hold; found 2020-99-99"),
    "a long file": ("a: " + "y" * (1 << 20), "f.yaml: expected at most 1,048,576 bytes; found 1,048,579"),
    "a Python object": ("a: !!python/object/apply:os.system [ls]", "f.yaml:1: is not YAML: could not determine"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused(text: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ExperimentError, match=words):
        load_experiment(Path("f.yaml"))


def test_the_longest_number_is_read(tmp_path: Path) -> None:
    for text in ("0x" + "f" * 98, "9" * 100, ":".join(["59"] * 33)):
        ((_, value),) = yaml_text.read_documents(f"a: {text}", "x.yaml")
        assert str(value["a"]).isdigit()


def test_what_is_wrong_is_said_in_so_many_lines_as_a_person_reads(tmp_path: Path) -> None:
    """A file with 20,000 wrong fields whose names a terminal would obey."""
    fields = "".join(f'"a\\e[31m\\n{number}": 1\n' for number in range(20_000))
    (tmp_path / "f.yaml").write_text(fields)
    with pytest.raises(ExperimentError) as caught:
        load_experiment(tmp_path / "f.yaml")
    lines = str(caught.value).split("\n")
    assert len(lines) == 51
    assert "and 19,9" in lines[-1]
    assert all(line.isprintable() for line in lines)


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(ExperimentError, match="/dev/zero: expected at most 1,048,576 bytes; found more"):
        load_experiment(Path("/dev/zero"))


def test_a_part_may_be_named_and_repeated(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(
        """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: x}
spec:
  seed: 1
  timeout: 1m
  cluster: {topics: [{name: a, config: &config {retention.ms: 1000}}, {name: b, config: *config}]}
  schedule: [&pause {wait: 1s}, *pause]
""",
        encoding="utf-8",
    )
    spec = load_experiment(tmp_path / "f.yaml").spec
    assert spec.cluster.topics[0].config == spec.cluster.topics[1].config == {"retention.ms": 1000}
    assert spec.schedule[0] == spec.schedule[1]


@pytest.mark.skipif(yaml_text._IN_C is None, reason="PyYAML without libyaml")
@pytest.mark.thorough
def test_the_parsers_in_c_and_in_python_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same values at the same lines; what is wrong is told alike."""

    def tree(node: yaml.Node) -> Any:
        inner = node.value
        if isinstance(node, yaml.SequenceNode):
            inner = [tree(one) for one in inner]
        elif isinstance(node, yaml.MappingNode):
            inner = [(tree(key), tree(value)) for key, value in inner]
        return node.tag, node.start_mark.line, inner

    def read(text: str) -> Any:
        try:
            return [(tree(one.root), repr(one.value)) for one in yaml_text.read_documents(text, "x.yaml")]
        except ExperimentError as error:
            return str(error)

    wrong = [
        "a: [1",
        "a: \x00",
        "a: '\ud800'",
        "a: 2024-02-30",
        "b: *y",
        "- a\n b: 1",
        "\ta: 1",
        "a: !!new {}",
        "a:\n - b\nc",
    ]
    texts = [path.read_text("utf-8") for path in sorted(SCENARIOS.rglob("*.yaml"))] + wrong
    in_c = [read(text) for text in texts]
    monkeypatch.setattr(yaml_text, "_IN_C", None)
    for text, found in zip(texts, in_c, strict=True):
        assert read(text) == found, text
    assert all(isinstance(found, str) for found in in_c[-len(wrong) :])


@pytest.mark.parametrize("kind", ["list", "mapping"])
@pytest.mark.parametrize("depth", [1, yaml_text.DEEPEST, yaml_text.DEEPEST + 1, 50_000])
def test_a_value_from_elsewhere_may_be_as_deep_as_a_text(kind: str, depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    opening, closing = ("[", "]") if kind == "list" else ("{a: ", "}")
    text = opening * depth + "1" + closing * depth
    problem = yaml_text.too_deep(value)
    assert (problem is None) == (depth <= yaml_text.DEEPEST)
    if problem is None:
        assert yaml_text.read_documents(text, "f.yaml")[0].value == value
        return
    with pytest.raises(ExperimentError, match=problem):
        yaml_text.read_documents(text, "f.yaml")
