"""The committed modules are what the schemas say, and a schema file that breaks the grammar is refused."""

from __future__ import annotations

from importlib.resources import files

import pytest

from highwater_runtime.wire.generate import generate
from highwater_runtime.wire.generator.emit import emit_catalog, emit_module, module_name
from highwater_runtime.wire.generator.schema import NO_VERSION, SchemaSyntaxError, Versions, parse_schema


def test_committed_modules_are_the_generators_output():
    folder = files("highwater_runtime.wire").joinpath("messages")
    committed = {entry.name: entry.read_text(encoding="utf-8") for entry in folder.iterdir() if entry.is_file()}
    expected = generate()
    assert committed.keys() == expected.keys()
    for name, source in expected.items():
        assert committed[name] == source, f"{name}: run python -m highwater_runtime.wire.generate"


def test_generation_is_deterministic():
    assert generate() == generate()


SCHEMA = """\
# a comment
request ThingRequest 77 versions 1-3 flexible 2+
  | What it is for.
  name string null=2+ default=null -- Its name.
  parts []Part 2+ ignorable
    | A part.
    weight float64
    old bool 1 default=true
  spare Part 3+ tag=1

data Bare - versions 0-0 flexible none
"""


def test_what_a_schema_says():
    thing, bare = parse_schema(SCHEMA, "thing.schema")
    assert (thing.kind, thing.name, thing.key, thing.versions) == ("request", "ThingRequest", 77, Versions(1, 3))
    assert [thing.is_flexible(v) for v in (1, 2, 3)] == [False, True, True]
    assert thing.root.doc == ["What it is for."]
    name, parts, spare = thing.root.fields
    assert (name.type, name.nullable, name.default, name.doc) == (
        "string",
        Versions(2, NO_VERSION),
        "null",
        "Its name.",
    )
    assert (parts.type, parts.is_array, parts.ignorable, parts.versions) == (
        "Part",
        True,
        True,
        Versions(2, NO_VERSION),
    )
    assert spare.tag == 1
    assert spare.struct is parts.struct
    assert parts.struct is not None
    assert [(f.name, f.versions) for f in parts.struct.fields] == [
        ("weight", Versions(0, NO_VERSION)),
        ("old", Versions(1, 1)),
    ]
    assert (bare.key, bare.root.fields) == (None, [])


def test_a_module_made_of_it_works():
    namespace: dict = {}
    exec(emit_module(parse_schema(SCHEMA, "thing.schema")[0]), namespace)
    thing, part = namespace["ThingRequest"], namespace["Part"]
    value = thing(name="n", parts=[part(weight=0.5)], spare=part(weight=2.0))
    assert (
        value.encode(3)
        == (
            b"\x02n"  # compact string
            b"\x02" + b"\x3f\xe0\0\0\0\0\0\0" + b"\x00"  # one part and its empty tagged fields
            b"\x01\x01\x09" + b"\x40\0\0\0\0\0\0\0" + b"\x00"  # one tagged field: tag 1, nine bytes
        )
    )
    assert thing.decode(value.encode(3), 3) == value
    with pytest.raises(ValueError, match="spare"):
        value.encode(2)
    assert thing(name="n").encode(1) == b"\0\1n"
    with pytest.raises(ValueError, match="name"):
        thing().encode(1)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("request X 1 versions 0-1", "expected"),
        ("query X 1 versions 0-1 flexible 0+", "expected"),
        ("request X 1 versions 0-x flexible 0+", "range of versions"),
        ("request X 1 versions 0+ flexible 0+", "last version"),
        ("request X 1 versions 0-1 flexible 0+\n  a int128", "unknown type"),
        ("request X 1 versions 0-1 flexible 0+\n  a int32 2..3", "range of versions"),
        ("request X 1 versions 0-1 flexible 0+\n  a int32\n  a int64", "twice"),
        ("request X 1 versions 0-1 flexible 0+\n  a Part", "no fields"),
        ("request X 1 versions 0-1 flexible 1+\n  a int32 tag=0", "inflexible version"),
        ("request X 1 versions 0-1 flexible 0+\n  a Part null\n    b int8", "has default=null"),
        ("request X 1 versions 0-1 flexible 0+\n  a Part default=null\n    b int8", "has default=null"),
        ("request X 1 versions 0-1 flexible 0+\n  a Part null default=null tag=0\n    b int8", "tagged struct"),
        ("  a int32", "outside"),
    ],
)
def test_what_breaks_the_grammar(line, complaint):
    with pytest.raises(SchemaSyntaxError, match=complaint) as caught:
        parse_schema(line, "bad.schema")
    assert str(caught.value).startswith("bad.schema:")


def test_a_struct_that_may_be_null():
    namespace: dict = {}
    schema = (
        "data Page - versions 0-1 flexible none\n  next Cursor 1+ null=1+ default=null\n    offset int32\n  last int8\n"
    )
    exec(emit_module(parse_schema(schema, "page.schema")[0]), namespace)
    page, cursor = namespace["Page"], namespace["Cursor"]
    assert page(last=7).encode(1) == b"\xff\x07"
    assert page(next=cursor(offset=5), last=7).encode(1) == b"\x01\0\0\0\x05\x07"
    for value in (page(last=7), page(next=cursor(offset=5), last=7)):
        assert page.decode(value.encode(1), 1) == value
    assert page(last=7).encode(0) == b"\x07"
    assert page.decode(b"\x07", 0) == page(last=7)
    with pytest.raises(ValueError, match="next"):
        page(next=cursor()).encode(0)


def test_a_request_needs_its_response():
    with pytest.raises(SchemaSyntaxError, match="77"):
        emit_catalog(parse_schema(SCHEMA, "thing.schema"))


def test_module_names():
    names = {
        "FetchRequest": "fetch_request",
        "NoOpRecord": "no_op_record",
        "LeaderChangeMessage": "leader_change_message",
    }
    for name, module in names.items():
        (message,) = parse_schema(f"data {name} - versions 0-0 flexible none", "x.schema")
        assert module_name(message) == module
