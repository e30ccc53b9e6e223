"""MSCCL++ execution plans, the JSON that the executor of microsoft/mscclpp runs: out and in."""

from __future__ import annotations

from weft.formats.mscclpp.from_plan import schedule_from_mscclpp
from weft.formats.mscclpp.to_plan import mscclpp_plan

__all__ = ["mscclpp_plan", "schedule_from_mscclpp"]
