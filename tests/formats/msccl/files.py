"""Small MSCCL files to read, and to spoil."""

from __future__ import annotations

from collections.abc import Iterable

NOT = "-1:-1"  # waits for no step

Steps = Iterable[str]


def msccl(coll: str, chunks: int, gpus: Iterable[str], **attributes: object) -> bytes:
    """A file; `attributes` replace those of <algo>, and None leaves one out."""
    listed = list(gpus)
    head: dict[str, object] = {
        "name": "mine",
        "ngpus": len(listed),
        "nchannels": 1,
        "nchunksperloop": chunks,
        "proto": "Simple",
        "coll": coll,
        "inplace": 0,
        "outofplace": 1,
        "minBytes": 0,
        "maxBytes": 0,
    } | attributes
    shown = " ".join(f'{name}="{value}"' for name, value in head.items() if value is not None)
    body = "".join(f'<gpu id="{number}" {gpu}</gpu>\n' for number, gpu in enumerate(listed))
    return f"<algo {shown}>\n{body}</algo>\n".encode()


def gpu(chunks: str, *blocks: str) -> str:
    """`chunks` is `i,o,s`."""
    i, o, s = chunks.split(",")
    inside = "".join(f'<tb id="{number}" {block}</tb>\n' for number, block in enumerate(blocks))
    return f'i_chunks="{i}" o_chunks="{o}" s_chunks="{s}">\n{inside}'


def block(send: int, recv: int, *steps: str, chan: int = 0) -> str:
    """Each of `steps` is `type source target count`, then maybe `waits=block:step` and `told`."""
    inside = "".join(step(number, text) for number, text in enumerate(steps))
    return f'send="{send}" recv="{recv}" chan="{chan}">\n{inside}'


def step(number: int, text: str) -> str:
    kind, source, target, count, *more = text.split()
    waits = next((word[6:] for word in more if word.startswith("waits=")), NOT)
    depid, deps = waits.split(":")
    return (
        f'<step s="{number}" type="{kind}" srcbuf="{source[0]}" srcoff="{source[1:]}" '
        f'dstbuf="{target[0]}" dstoff="{target[1:]}" cnt="{count}" depid="{depid}" '
        f'deps="{deps}" hasdep="{int("told" in more)}"/>\n'
    )


def pair() -> bytes:
    """An allgather over two gpus that swap their chunks; line 5 has the first step."""
    return msccl(
        "allgather",
        2,
        [
            gpu(
                "1,2,0",
                block(1, 1, "s i0 i0 1", "r o1 o1 1"),
                block(-1, -1, "cpy i0 o0 1"),
            ),
            gpu(
                "1,2,0",
                block(0, 0, "s i0 i0 1", "r o0 o0 1"),
                block(-1, -1, "cpy i0 o1 1"),
            ),
        ],
    )
