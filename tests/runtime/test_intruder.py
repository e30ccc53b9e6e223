"""Whatever a peer writes into the shared memory, a rank ends with an error or with its sums.

`make sanitize` runs this where no access beyond what belongs to a rank stays unseen.
"""

from __future__ import annotations

import re

from runtime.intruder import ATTACKS, attacked
from runtime.job import said

ENDS = (
    "finished",
    r"BadInput: rank 0 cannot run ring: rank 1 (runs something else|gave back .*)",
    r"Stalled: rank 0 cannot finish ring: there was no news .*",
)


def test_garbage_is_refused_or_waited_out():
    (words,) = said(attacked, 1, 12)
    for how, row in zip(ATTACKS, words, strict=True):
        assert [w for w in row if not re.fullmatch("|".join(ENDS), w)] == [], how
    told = " ".join(word for row in words for word in row)
    assert "runs something else" in told
    assert "gave back more than it was sent" in told
    assert "gave back what it was not sent" in told
    assert "no news" in told
