"""The six kinds of request, one file each. Each exports KIND, GRANT, TARGETS and plan(world, ticket) -> Case.

`plan` gives the ticket facts that make exactly its target code right under the policy in force when it arrives;
what the requester claims is the same in grant and refusal. Where the ticket's agent breaks a rule, the facts are those of
the refusal and the acts those of a grant.
"""

from __future__ import annotations

from types import ModuleType

from samples.cases import account_recovery, address_change, cancel, exchange, goodwill, refund

CASES: dict[str, ModuleType] = {
    module.KIND: module for module in (refund, cancel, address_change, exchange, account_recovery, goodwill)
}
IDENTITY_KINDS = frozenset({"address_change", "account_recovery"})
"""Kinds that check an identity: at most one such ticket a person, so that no earlier ticket gives the answers away."""
