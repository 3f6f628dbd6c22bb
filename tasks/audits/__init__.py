"""Audits of other people's task sets: one file each, run by `python -m tasks audit NAME:PATH`."""
