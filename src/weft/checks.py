"""What every noun asks of the names and numbers it is given; a breach is BadInput."""

from __future__ import annotations

import re
from operator import index
from typing import Annotated

from msgspec import Meta, Struct

from weft.errors import BadInput

MOST_NUMBER = (1 << 63) - 1
MOST_NAME = 80  # characters

Natural = Annotated[int, Meta(ge=0, le=MOST_NUMBER)]

_NAME = re.compile(rf"[A-Za-z0-9]([A-Za-z0-9 _.:+*/()-]{{0,{MOST_NAME - 2}}}[A-Za-z0-9_.:+*/()-])?")


class Fields(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record that files hold too, as a JSON object; each field says in `Meta` what it is."""


def require_name(what: str, name: str) -> None:
    """Names are shown on terminals and pages and stand in text files, so they are kept plain."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{what} is named {name[:40]!r}: use 1 to {MOST_NAME} letters, digits, spaces and "
            "_.:+*/()-, first a letter or digit, last no space"
        )


def require_range(what: str, value: int, least: int, most: int = MOST_NUMBER) -> None:
    require_whole(what, value)
    if not least <= value <= most:
        raise BadInput(f"{what} is {value}: give {range_text(least, most)}")


def require_whole(what: str, value: int) -> None:
    """Types are not checked at run time, and the core takes nothing but whole numbers."""
    try:
        index(value)
    except TypeError:
        raise BadInput(f"{what} is {value!r:.40}: give a whole number") from None


def range_text(least: int, most: int) -> str:
    """Say what there is to choose from: 1 to 8, or 1."""
    return f"{least}" if least == most else f"{least} to {most}"
