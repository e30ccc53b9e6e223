"""The algorithms of the textbooks, one file per family."""
