"""What may have happened to a file: a few of these, one after another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from hypothesis import strategies as st

from weft.formats.chakra.protobuf import encode_varint

NUMBER = re.compile(rb"-?\d+")
TOKEN = re.compile(rb"\w+|\"[^\"]*\"|\S")
EXTREMES = sorted(
    sign * (1 << bits) + off
    for sign in (1, -1)
    for bits in (0, 7, 8, 15, 16, 20, 23, 26, 28, 31, 32, 53, 62, 63, 64, 100)
    for off in (-1, 0, 1)
)
WILD = [str(number).encode() for number in EXTREMES] + [
    b"1" * 5000,
    b"1e400",
    b"0x1",
    b"-0",
    b"1.5",
]
STRANGE = [b"\0", b"\n", b"\r", b"\x1b[31m", b"\\n", b"\xc3", b"\xe2\x80\xa8", b"\\ud800", b"&#1;"]
STRANGE += [b'"', b"<", b">", b"{", b"[", b"]", b"}", b",", b":", b"=", b";", b"#", b"->", b"<!--"]
MOST_BYTES = 20_000


class Draw(Protocol):
    def __call__(self, strategy: st.SearchStrategy[Any]) -> Any: ...


@st.composite
def damaged(draw: Draw, content: bytes, others: Sequence[bytes]) -> bytes:
    for _ in range(draw(st.integers(1, 4))):
        change = draw(st.sampled_from(CHANGES))
        content = change(draw, content, draw(st.sampled_from(others)))[:MOST_BYTES]
    return content


def cut(draw: Draw, content: bytes, _: bytes) -> bytes:
    return content[: place(draw, content)]


def leave_out(draw: Draw, content: bytes, _: bytes) -> bytes:
    start, end = span(draw, content)
    return content[:start] + content[end:]


def flip(draw: Draw, content: bytes, _: bytes) -> bytes:
    at = place(draw, content)
    changed = (byte ^ 1 << draw(st.integers(0, 7)) for byte in content[at : at + 1])
    return content[:at] + bytes(changed) + content[at + 1 :]


def insert(draw: Draw, content: bytes, _: bytes) -> bytes:
    at = place(draw, content)
    text: bytes = draw(st.sampled_from(STRANGE) | st.binary(max_size=6))
    return content[:at] + text + content[at:]


def splice(draw: Draw, content: bytes, other: bytes) -> bytes:
    return content[: place(draw, content)] + other[place(draw, other) :]


def duplicate(draw: Draw, content: bytes, _: bytes) -> bytes:
    start, end = span(draw, content)
    times: int = draw(st.sampled_from([1, 1, 2, 50]))
    return content[:end] + content[start:end] * times + content[end:]


def wild_number(draw: Draw, content: bytes, _: bytes) -> bytes:
    return replaced(draw, content, NUMBER, draw(st.sampled_from(WILD)))


def small_number(draw: Draw, content: bytes, _: bytes) -> bytes:
    return replaced(draw, content, NUMBER, str(draw(st.integers(-1, 5))).encode())


def other_token(draw: Draw, content: bytes, other: bytes) -> bytes:
    tokens = TOKEN.findall(other) or [b""]
    return replaced(draw, content, TOKEN, draw(st.sampled_from(tokens)))


def other_varint(draw: Draw, content: bytes, _: bytes) -> bytes:
    """A number as protocol buffers have it."""
    at = place(draw, content)
    number = encode_varint(draw(st.sampled_from(EXTREMES)) % (1 << 64))
    return content[:at] + number + content[at + 1 :]


CHANGES = (
    cut,
    leave_out,
    flip,
    insert,
    splice,
    duplicate,
    wild_number,
    small_number,
    other_token,
    other_varint,
)


def place(draw: Draw, content: bytes) -> int:
    return int(draw(st.integers(0, len(content))))


def span(draw: Draw, content: bytes) -> tuple[int, int]:
    start = place(draw, content)
    return start, start + int(draw(st.sampled_from([1, 2, 10, 100, 1000])))


def replaced(draw: Draw, content: bytes, pattern: re.Pattern[bytes], text: bytes) -> bytes:
    found = [match.span() for match in pattern.finditer(content)]
    if not found:
        return content + text
    start, end = draw(st.sampled_from(found))
    return content[:start] + text + content[end:]
