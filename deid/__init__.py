"""records -> clean: one identity, one keyed token; texts and fields rewritten; the way back in an encrypted vault; fails closed.

The output is pseudonymised, not anonymous.
"""
