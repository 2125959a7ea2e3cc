"""The reader of EDN: equal to a library's, bounded, and exact about what is wrong."""

from collections.abc import Iterable
from typing import Any

import edn_format
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.jepsen.edn import BadEdnError, Keyword, MapKey, Symbol, read_edn

TEXT = st.text(st.characters(codec="utf-8", exclude_characters='"\\\x1c\x1d\x1e\x1f\x85\r'), max_size=8)
NAME = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | TEXT
    | NAME.map(edn_format.Keyword)
    | NAME.filter(lambda name: name not in ("nil", "true", "false")).map(edn_format.Symbol)
)
VALUE = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAME | st.integers(), inner, max_size=3),
    max_leaves=12,
)


def ours(found: Any) -> Any:
    """What a library returns, as our reader has it."""
    match found:
        case edn_format.Keyword():
            return Keyword(found.name)
        case edn_format.Symbol():
            return Symbol(found.name)
        case dict() | edn_format.ImmutableDict():
            return {ours(key): ours(value) for key, value in found.items()}
        case frozenset():
            return frozenset(map(ours, found))
        case str() | bytes():
            return found
        case Iterable():
            return tuple(map(ours, found))
    return found


@settings(max_examples=40)  # the library takes tens of milliseconds for one
@given(st.lists(VALUE, max_size=3))
def test_it_reads_what_a_library_writes_and_reads(values: list[Any]) -> None:
    text = "\n".join(edn_format.dumps(value) for value in values)
    theirs = [ours(value) for value in edn_format.loads_all(text)]
    assert [value for _, value in read_edn(text.splitlines(keepends=True))] == theirs
    within = [value for _, value in read_edn([f"[{text}\n]"], within_vector=True)]
    assert within == theirs


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{:a #{1 2}, "b\\n\\u0041" (1 2)}', {Keyword("a"): frozenset({1, 2}), "b\nA": (1, 2)}),
        ("#jepsen.history.Op{:f :send} ; a comment", {Keyword("f"): Keyword("send")}),
        ("[1 #_ [2 3] 4N -5 1.5M 2e3 \\a \\newline]", (1, 4, -5, 1.5, 2000.0, "a", "\n")),
        ('"two\nlines"', "two\nlines"),
        ('["a\n\\"b\nc\\\\\n" 1]', ('a\n"b\nc\\\n', 1)),
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ("[##Inf ##-Inf 3/4 \\o101 \\u0041 \\u \\o]", (float("inf"), float("-inf"), Symbol("3/4"), "A", "A", "u", "o")),
        (
            "#:op{:f 1 :_/g 2 :x/h 3 i 4 5 6}",
            {Keyword("op/f"): 1, Keyword("g"): 2, Keyword("x/h"): 3, Symbol("op/i"): 4, 5: 6},
        ),
        ("#::op {:f {:g 1}}", {Keyword("op/f"): {Keyword("g"): 1}}),
        ("#{{:a 1} [{:b 2}] {}}", frozenset({MapKey({(Keyword("a"), 1)}), (MapKey({(Keyword("b"), 2)}),), MapKey()})),
        ("{{} 1, [{}] 2}", {MapKey(): 1, (MapKey(),): 2}),
        (
            '[^{:line 1} a ^:b #^String c #"[a-z]\\d" #uuid "x" #\'user/f @d]',
            (Symbol("a"), Symbol("c"), "[a-z]\\d", "x", Symbol("#'user/f"), Symbol("@d")),
        ),
    ],
)
def test_what_histories_hold(text: str, value: Any) -> None:
    assert [found for _, found in read_edn(text.splitlines(keepends=True))] == [value]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[1\n2", 2, "the text ends within '\\['"),
        ('{:a 1}\n"abc', 2, "the text ends within"),
        ("(1]", 1, "expected '\\)', found ']'"),
        ("1 }", 1, "expected a value, found '}'"),
        ("{:a}", 1, "a key without a value"),
        ("{{} 1 {} 2}", 1, "expected each key of a map once"),
        ("##Infinity", 1, "expected an EDN value, found '##Infinity'"),
        ("#:op [1]", 1, "expected an EDN value, found '#:op'"),
        ("#:op{:f}", 1, "a key without a value"),
        ("[^:a]", 1, "expected a value behind \\^"),
        ("[1 #inst]", 1, "expected a value behind #inst"),
        ("^{:a 1}", 1, "the text ends within"),
        ("#_", 1, "ends within '#_'"),
        ("[#_]", 1, "expected a value behind #_"),
        (": 1", 1, "expected a name behind ':'"),
        ('"\\q"', 1, "behind a backslash, found 'q'"),
        ("[" * 1000, 1, "expected at most 64 levels"),
        ("{1 [[0 7]]\n 1 []}", 2, "expected each key of a map once"),
        ('"\\ud800"', 1, "found half of a surrogate pair"),
        ("\\udc00", 1, "found half of a surrogate pair"),
    ],
)
def test_what_is_no_edn_is_told_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadEdnError, match=what) as error:
        list(read_edn(text.splitlines(keepends=True)))
    assert error.value.line == line


def test_a_string_of_many_lines_is_gone_through_once() -> None:
    # Gone through again at each line it would take an hour.
    lines = ['"a\n', *["a\n"] * 200_000, '"']
    assert [len(value) for _, value in read_edn(lines)] == [400_002]
    with pytest.raises(BadEdnError, match="the text ends within"):
        list(read_edn(lines[:-1]))
