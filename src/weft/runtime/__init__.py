"""Run schedules between real processes."""
