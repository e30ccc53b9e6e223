"""Machines by name: `ring:8`, `torus:4x4x4`, or the path of a topology file."""

from __future__ import annotations

import re
from collections.abc import Callable

from weft.errors import BadInput
from weft.formats.files import load_topology
from weft.topology.topology import Topology
from weft.topology.zoo.generators import cluster, full, host, hypercube, mesh, ring, star, torus

# The sides that a shape takes: one number, or as many as there are dimensions.
ONE_SIDE: dict[str, Callable[[int], Topology]] = {
    "cluster": cluster,
    "full": full,
    "host": host,
    "hypercube": hypercube,
    "ring": ring,
    "star": star,
}
MANY_SIDES: dict[str, Callable[..., Topology]] = {"mesh": mesh, "torus": torus}


def find_topology(name: str) -> Topology:
    """Return the machine of that name; anything with a dot or a slash is a file."""
    if "/" in name or "." in name:
        return load_topology(name)
    found = re.fullmatch(r"([a-z]+):(\d{1,9}(?:x\d{1,9})*)", name, re.ASCII)
    sides = [int(side) for side in found[2].split("x")] if found else []
    if found and found[1] in MANY_SIDES:
        return MANY_SIDES[found[1]](*sides)
    if found and found[1] in ONE_SIDE and len(sides) == 1:
        return ONE_SIDE[found[1]](*sides)
    raise BadInput(
        f"no topology {name[:40]!r}: write full:N, host:N, cluster:N, ring:N, star:N, mesh:AxB, "
        "torus:AxBxC, hypercube:D, or the path of a file (with a dot or a slash in it)"
    )
