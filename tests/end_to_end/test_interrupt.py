from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

VERIFY_FOR_LONG = """
import numpy as np, weft
ring = weft.classic.ring_allreduce(weft.allreduce(512))
again_and_again = np.concatenate([ring.transfers] * 40)
print("ready", flush=True)
weft.verify(weft.Schedule("long", ring.collective, again_and_again))
print("finished")
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_long_verification():
    process = subprocess.Popen(
        [sys.executable, "-c", VERIFY_FOR_LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert (output, "KeyboardInterrupt" in errors) == ("", True)
