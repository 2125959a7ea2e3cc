"""What a class body declares becomes slots, a typed constructor and a codec; what it cannot declare is refused."""

from __future__ import annotations

import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

import mypy.api
import pytest

from highwater_runtime.wire.codec import DecodeError, SchemaError
from highwater_runtime.wire.messages.fetch_request import FetchRequest
from highwater_runtime.wire.schema import NO_VERSION, DeclarationError, Versions

HEAD = """\
from __future__ import annotations
from uuid import UUID
from highwater_runtime.wire.message import Int8, Int32, Message, Records, Struct, field

"""


@pytest.fixture
def declare(monkeypatch):
    """``declare(source)``: a module with these classes."""

    def make(source: str) -> ModuleType:
        module = ModuleType("declared")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(HEAD + source, vars(module))
        return module

    return make


THING = """\
class Part(Struct):
    weight: float = field()
    old: bool = field("1", default=True)

class ThingRequest(Message, kind="request", key=77, versions="1-3", flexible="2+"):
    name: str | None = field(nullable="2+", default=None)
    parts: list[Part] = field("2+", ignorable=True)
    spare: Part = field("3+", tag=1)
"""


def test_what_a_class_says(declare):
    thing = declare(THING).ThingRequest
    assert (thing.API_KEY, thing.NAME, thing.KIND) == (77, "ThingRequest", "request")
    assert (list(thing.versions()), thing.FLEXIBLE_SINCE) == ([1, 2, 3], 2)
    assert [thing.MESSAGE.is_flexible(version) for version in thing.versions()] == [False, True, True]
    assert thing.__slots__ == ("name", "parts", "spare")
    name, parts, spare = thing.SCHEMA.fields
    assert (name.type, name.is_array, name.nullable, name.default) == ("string", False, Versions(2, NO_VERSION), None)
    assert (parts.type, parts.is_array, parts.versions, parts.ignorable) == (
        "Part",
        True,
        Versions(2, NO_VERSION),
        True,
    )
    assert (spare.tag, spare.struct) == (1, parts.struct)
    assert [(f.name, f.versions) for f in parts.struct.fields] == [
        ("weight", Versions(0, NO_VERSION)),
        ("old", Versions(1, 1)),
    ]


def test_its_bytes(declare):
    module = declare(THING)
    thing, part = module.ThingRequest, module.Part
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
    with pytest.raises(SchemaError, match="spare"):
        value.encode(2)
    assert thing(name="n").encode(1) == b"\0\1n"
    with pytest.raises(SchemaError, match="name"):
        thing().encode(1)
    with pytest.raises(TypeError, match="nome"):
        thing(nome="n")
    with pytest.raises(AttributeError):
        value.nome = "n"
    with pytest.raises(TypeError, match="unhashable"):
        hash(value)


def test_a_struct_that_may_be_null(declare):
    module = declare(
        "class Cursor(Struct):\n"
        "    offset: Int32 = field()\n"
        'class Page(Message, kind="data", versions="0-1", flexible="none"):\n'
        '    next: Cursor | None = field("1+", nullable="1+", default=None)\n'
        "    last: Int8 = field()\n"
    )
    page, cursor = module.Page, module.Cursor
    assert page(last=7).encode(1) == b"\xff\x07"
    assert page(next=cursor(offset=5), last=7).encode(1) == b"\x01\0\0\0\x05\x07"
    for value in (page(last=7), page(next=cursor(offset=5), last=7)):
        assert page.decode(value.encode(1), 1) == value
    assert page(last=7).encode(0) == b"\x07"
    assert page.decode(b"\x07", 0) == page(last=7)
    with pytest.raises(SchemaError, match="next"):
        page(next=cursor()).encode(0)


MESSAGE = 'class X(Message, kind="data", versions="0-1", flexible="1+"):\n'
PART = "class Part(Struct):\n    a: Int8 = field()\n"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ('class X(Message, kind="data", versions="0-x", flexible="0+"): ...', "expected versions"),
        ('class X(Message, kind="data", versions="0+", flexible="0+"): ...', "last version"),
        (MESSAGE + "    a: Int128 = field()", "Int128"),
        (MESSAGE + "    a: Part = field()\n" + PART, "struct from above, found Part"),
        (MESSAGE + "    a: list[list[Int8]] = field()", "expected a type"),
        (MESSAGE + '    a: Int8 = field("2..3")', "expected versions"),
        ("class Part(Struct): ...\n" + MESSAGE + "    a: Part = field()", "no fields"),
        (MESSAGE + "    a: Int8 = field(tag=0)", "inflexible version"),
        (PART.replace("field()", "field(tag=0)") + MESSAGE + "    b: Part = field()", r"Part\.a is tagged"),
        (MESSAGE + "    a: str = field(default=None)", "no version can carry"),
        (MESSAGE + '    a: str = field(nullable="0+")', "if and only if"),
        (MESSAGE + "    a: str | None = field()", "if and only if"),
        (PART + MESSAGE + '    b: Part | None = field(nullable="0+")', "needs default=None"),
        (PART + MESSAGE + '    b: Part | None = field("1+", nullable="1+", default=None, tag=0)', "tagged struct"),
    ],
)
def test_what_cannot_be_declared(declare, source, complaint):
    with pytest.raises(DeclarationError, match=complaint):
        declare(source)


def test_the_source_of_what_was_generated_can_be_read():
    with pytest.raises(DecodeError) as caught:
        FetchRequest.decode(bytes(21) + b"\0", 15)
    shown = "".join(traceback.format_exception(caught.value))
    assert '"<FetchRequest decode v15>"' in shown
    assert 'raise overrun("FetchRequest", "FetchRequest.topics"' in shown
    assert FetchRequest()
    assert inspect.getsource(FetchRequest.__init__).startswith("def __init__(self, *, cluster_id=None, replica_id=-1")


def test_type_checkers_know_the_constructor(tmp_path):
    snippet = tmp_path / "snippet.py"
    snippet.write_text(
        "from highwater_runtime.wire.messages.fetch_request import FetchRequest, FetchTopic\n"
        "FetchRequest(topics=[FetchTopic(topic='t')], cluster_id=None)\n"
        "FetchRequest(topics=[1])\n"
        "FetchRequest(max_wait_msec=1)\n"
        "FetchRequest.decode(b'', 17).topics[0].topic.no_such\n",
        encoding="utf-8",
    )
    config = Path(__file__).parents[2] / "pyproject.toml"
    found, errors, _ = mypy.api.run(["--config-file", str(config), "--cache-dir", str(tmp_path), str(snippet)])
    assert not errors
    lines = [line for line in found.splitlines() if "error:" in line]
    assert [line.partition("snippet.py:")[2].split(":")[0] for line in lines] == ["3", "4", "5"], found
    assert ["list-item" in lines[0], "max_wait_msec" in lines[1], "no_such" in lines[2]] == [True] * 3
