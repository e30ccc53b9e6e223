from collections.abc import Sequence
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

NEVER: int = 9223372036854775807

LATEST: int = 2305843009213693951

class TimeOverflow(OverflowError):
    pass

def lives() -> list[tuple[str, bool, bool, bool]]:
    """
    Of each kind of operation: whether its segments wait to arrive, take room, give room back.
    """

class Plan:
    """A schedule, lowered."""

    @property
    def messages(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    @property
    def parts(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    @property
    def connections(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    def needs(self, rank: int) -> list[list[int]]:
        """
        For each operation of a rank: those of the same rank that must be done first.
        """

    def resized(self, elements: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Plan | None:
        """
        The same for other numbers of elements, or None where other transfers move something.
        """

class Trace:
    """What became of a simulated run."""

    @property
    def end(self) -> int: ...

    @property
    def events(self) -> int: ...

    @property
    def rank_ends(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    @property
    def busy(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    @property
    def failures(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

    @property
    def records(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...

def lower(*, ranks: int, slots: int, first_scratch: int, empty_too: bool, transfers: Annotated[NDArray[numpy.int32], dict(shape=(None, 7), order='C', device='cpu', writable=False)], aliases: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)], elements: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rank: int | None = None) -> Plan:
    """
    Lower a correct schedule for a rank, or for all; each transfer moves so many `elements`.
    """

def simulate(plan: Plan, *, segments: int, window: int, record: bool, rates: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], overheads: Annotated[NDArray[numpy.int64], dict(shape=(None, 4), order='C', device='cpu', writable=False)], paths: Annotated[NDArray[numpy.int64], dict(shape=(None, 3), order='C', device='cpu', writable=False)], resources: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slowdowns: Annotated[NDArray[numpy.int64], dict(shape=(None, 4), order='C', device='cpu', writable=False)], deaths: Annotated[NDArray[numpy.int64], dict(shape=(None, 2), order='C', device='cpu', writable=False)], deadline: int) -> Trace:
    """
    Run it on a machine that is only computed; the memory of the result is rows of the core.
    """

class BrokenPeer(RuntimeError):
    pass

def create_memory(ranks: int, window: int, segment_bytes: int) -> int:
    """Return the descriptor of a new memory file."""

class Group:
    """One process's place in a group that shares memory."""

    def __init__(self, descriptor: int, *, ranks: int, window: int, segment_bytes: int, rank: int) -> None: ...

    def leave(self) -> None: ...

    def forget(self) -> None:
        """Be nobody's, in a child of fork."""

class Failure:
    """Why a call ended early."""

    @property
    def by_deadline(self) -> bool: ...

    @property
    def operation(self) -> int: ...

    @property
    def segment(self) -> int: ...

    @property
    def peer(self) -> int: ...

class Call:
    """One rank's part of a schedule on real memory."""

    def __call__(self, times: int = 1) -> None:
        """Run it so many times, on all ranks together; it has ended when this rank's outputs are right."""

    def __init__(self, group: Group, plan: Plan, *, transfers: Annotated[NDArray[numpy.int32], dict(shape=(None, 7), order='C', device='cpu', writable=False)], slots: int, given: Annotated[NDArray[numpy.int64], dict(shape=(None, 4), order='C', device='cpu', writable=False)], buffers: Sequence[Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], segments: int, digest: int, deadline: float) -> None: ...

    @property
    def failure(self) -> Failure | None: ...

    def transfer_of(self, operation: int) -> int:
        """The first transfer of what an operation carries."""
