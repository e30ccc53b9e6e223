"""Where the traces of all ranks are: `prefix.0.et`, `prefix.1.et`, and so on."""

from __future__ import annotations

import re
from pathlib import Path

from weft.collective import MOST_RANKS
from weft.errors import BadInput

_ONE = re.compile(r"(?P<prefix>.+?)(\.\d+)?\.et(?P<packed>\.gz)?")


def rank_paths(path: str | Path) -> list[Path]:
    """Return the files of all ranks, given one of them or what their names begin with."""
    path = Path(path)
    one = _ONE.fullmatch(path.name)
    prefix, packed = (one["prefix"], one["packed"] or "") if one else (path.name, "")
    wanted = re.compile(rf"{re.escape(prefix)}\.(0|[1-9]\d{{0,5}})\.et{re.escape(packed)}")
    try:
        names = [each.name for each in path.parent.iterdir()]
    except (OSError, ValueError) as problem:
        raise BadInput(f"cannot be found: {getattr(problem, 'strerror', problem)}") from None
    ranks = {int(found[1]) for name in names if (found := wanted.fullmatch(name))}
    if not ranks or max(ranks) >= MOST_RANKS:
        raise BadInput(f"no traces {prefix}.0.et{packed}, ... of up to {MOST_RANKS} ranks")
    if missing := set(range(max(ranks))) - ranks:
        raise BadInput(
            f"the traces go up to rank {max(ranks)}, but {prefix}.{min(missing)}.et{packed}"
            " is not there: give the files of all ranks"
        )
    return [path.with_name(f"{prefix}.{rank}.et{packed}") for rank in sorted(ranks)]
