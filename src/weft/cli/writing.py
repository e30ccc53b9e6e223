"""What the commands write files with."""

from __future__ import annotations

from pathlib import Path

from weft.errors import BadInput
from weft.formats.files import save
from weft.schedule.schedule import Schedule


def write_schedule(schedule: Schedule, folder: Path) -> Path:
    """Write it into the folder, under a name that says what it is."""
    name = f"{schedule.name} {schedule.collective.name} {schedule.collective.ranks}"
    path = folder / f"{name.lower().replace(' ', '-')}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise BadInput(f"{folder} cannot be made: {problem.strerror}") from None
    save(schedule, path)
    return path
