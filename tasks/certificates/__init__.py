"""The checks of a certificate, one a file: `c<number>_<what>.py` exports CHECK. They run in the order of their numbers."""

from __future__ import annotations

from schemas.plugins import load_plugins
from tasks.certificates._bench import CertificateCheck


def checks() -> dict[str, CertificateCheck]:
    """Id ("C1" ...) -> check, in the order in which they run: C7 reads the mutants that C4 to C6 played."""
    return {check.id: check for check in load_plugins("tasks.certificates", "CHECK", CertificateCheck).values()}
