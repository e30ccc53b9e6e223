"""Files: ours, and those of others."""
