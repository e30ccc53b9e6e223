"""Chakra execution traces, the files of ASTRA-sim: schedules out and in, and what others call."""
