"""What to do, as one list; its text; and the proof that it is right."""
