"""The policy documents in the versions that were in force at the start, by clause."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from environments.tool import MAX_SHOWN, Context, Page, Prose, System, Tool, paged, refuse, tool
from schemas.episode import Frozen, RefusalKind
from schemas.task import PolicySpec

BEST = 5
"""Clauses that a search returns."""
_WORD = re.compile(r"[^\W_]+")


class Options(Frozen):
    pass


def _view(context: Context, policy: PolicySpec, clause: str, text: str) -> dict[str, Any]:
    context.state.note("policies", policy.document, clause)
    return {"clause": clause, "text": text[:MAX_SHOWN]}


@lru_cache(maxsize=4096)
def _words(title: str, text: str) -> frozenset[str]:
    """Of a clause: many episodes search the same few documents."""
    return frozenset(_WORD.findall(f"{title} {text}".casefold()))


def search_policy(context: Context, query: Prose) -> Any:
    """Finds the clauses of all documents that share most words with the query, at most five.

    Args:
        query: Words to look for, e.g. "refund late delivery".
    """
    wanted = set(_WORD.findall(query.casefold()))
    scored = []
    for at, policy in enumerate(context.policies):
        for number, clause in enumerate(policy.clauses):
            if hits := len(wanted & _words(policy.title, clause.text)):
                scored.append((-hits, at, number, policy, clause))
    scored.sort(key=lambda row: row[:3])
    return {
        "clauses": [
            {"document": policy.document, **_view(context, policy, clause.clause, clause.text)}
            for *_, policy, clause in scored[:BEST]
        ]
    }


def read_policy(context: Context, document: str, clause: str | None = None, page: Page = 1) -> Any:
    """Shows a policy document as it is in force now, or one clause of it; ten clauses to a page.

    Refuses: not_found if there is no such document or clause (the message names those there are).

    Args:
        document: Name of the document; the opening lists them.
        clause: Number of one clause, e.g. 2.1; leave out for the whole document.
        page: Page of the clauses, from 1.
    """
    policy = next((p for p in context.policies if p.document == document), None)
    if policy is None:
        there = ", ".join(p.document for p in context.policies) or "none"
        refuse(RefusalKind.not_found, f"read_policy: there is no document {document[:60]}; there are: {there}")
    chosen = [c for c in policy.clauses if clause is None or c.clause == clause]
    if not chosen and clause is not None:
        there = ", ".join(c.clause for c in policy.clauses)
        refuse(RefusalKind.not_found, f"read_policy: {document} has no clause {clause[:20]}; it has: {there[:300]}")
    shown, place = paged("read_policy", chosen, page)
    return {
        "document": document,
        "version": policy.version,
        "title": policy.title,
        "clauses": [_view(context, policy, c.clause, c.text) for c in shown],
        **place,
    }


def _tools(_: Options, __: Callable[[str], Any]) -> list[Tool]:
    return [tool("policies", search_policy, reads=True), tool("policies", read_policy, reads=True, returns=("version", "title"))]


SYSTEM = System(name="policies", options=Options, tools=_tools)
