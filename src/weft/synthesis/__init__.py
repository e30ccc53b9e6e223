"""Topology and collective in, schedule out."""
