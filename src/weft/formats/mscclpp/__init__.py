"""MSCCL++ execution plans, the JSON that the executor of microsoft/mscclpp runs: out and in."""
