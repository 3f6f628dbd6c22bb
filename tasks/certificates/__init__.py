"""The checks of a certificate, one a file: `c<number>_<what>.py` exports CHECK. They run in the order of their numbers."""

from __future__ import annotations

from schemas.plugins import load_plugins, plugin_names
from tasks.certificates._bench import CertificateCheck


def checks() -> dict[str, CertificateCheck]:
    """Id ("C1" ...) -> check, in the order in which they run: C7 reads the mutants that C4 to C6 played."""
    return {check.id: check for check in load_plugins("tasks.certificates", "CHECK", CertificateCheck).values()}


def names() -> dict[str, str]:
    """Id -> what the check is, as its file is named ("C1": "reference replay"); no check is loaded for it."""
    stems = [name.partition("_") for name in plugin_names("tasks.certificates")]
    return {f"C{int(number[1:])}": words.replace("_", " ") for number, _, words in stems}
