"""What a schedule would do on a machine: the real engine, driven by a virtual clock."""
