"""What is written as a properties file is what the node reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_chaos.backends.local.properties import render_properties
from highwater_runtime.host.config.properties import read_properties

# Of blanks only the space: what else Unicode has, Java keeps and our reader takes for the end of a value.
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]))
VALUES = st.lists(WORDS, max_size=4).map(" ".join)


@settings(max_examples=50)
@given(st.dictionaries(st.from_regex(r"[a-z][a-z.]{0,20}", fullmatch=True), VALUES, max_size=5))
def test_values_come_back(tmp_path_factory: pytest.TempPathFactory, properties: dict[str, str]) -> None:
    # Java drops the space at the end of a line's beginning only; our reader drops it at the end too.
    properties = {key: value.rstrip() for key, value in properties.items()}
    path: Path = tmp_path_factory.getbasetemp() / "node.properties"
    path.write_text(render_properties(properties), encoding="utf-8")
    assert {name: found.value for name, found in read_properties(path).items()} == properties


def test_types_are_written_as_java_has_them() -> None:
    assert render_properties({"a": True, "b": 3, "c": "x\\y\n"}) == "a=true\nb=3\nc=x\\\\y\\n\n"


@pytest.mark.parametrize("key", ["", "two words", "a=b", "#comment", "a:b"])
def test_no_property_has_such_a_name(key: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a property"):
        render_properties({key: "value"})
