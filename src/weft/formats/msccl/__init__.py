"""MSCCL XML: algorithms for microsoft/msccl, Azure/msccl-executor-nccl and RCCL."""
