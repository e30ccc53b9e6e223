from typing import Annotated

import numpy
from numpy.typing import NDArray


MOST_WRITES: int = 32

class TooManySums(MemoryError):
    pass

class Finding:
    """What is wrong with a schedule, and where."""

    @property
    def rule(self) -> int: ...

    @property
    def transfer(self) -> int: ...

    @property
    def rank(self) -> int: ...

    @property
    def slot(self) -> int: ...

    @property
    def piece_got(self) -> int: ...

    @property
    def piece_want(self) -> int: ...

    @property
    def got(self) -> list[tuple[int, int]]: ...

    @property
    def want(self) -> list[tuple[int, int]]: ...

def rules() -> list[tuple[str, str]]:
    """Name and promise of each rule, in the order in which they are checked."""

def verify(*, ranks: int, slots: int, first_scratch: int, heard_is_enough: bool, transfers: Annotated[NDArray[numpy.int32], dict(shape=(None, 7), order='C', device='cpu', writable=False)], initial: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], final: Annotated[NDArray[numpy.int32], dict(shape=(None, 5), order='C', device='cpu', writable=False)], aliases: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], ways: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)] | None, pieces: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')] | None, watched: tuple[int, int] | None) -> tuple[Finding | None, list[tuple[int, int, list[tuple[int, int]]]]]:
    """
    Return the first finding or None, and what was written to the watched (rank, slot).
    """
