# What the stub of the native module says where nanobind does not know it.
weft\._native\.Call\.__call__:
    def __call__(self, times: int = 1) -> None:
        """Run it so many times, on all ranks together; it has ended when this rank's outputs are right."""
