"""The supplier's policy documents, each in two versions, as Markdown with front matter; and what they mean, in numbers.

The numbers here decide the simulated outcomes; the texts say the same to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one version says. Money in minor units (EUR cents), windows in days."""

    late_days: int
    refund_days: int
    exchange_days: int
    approval_above: dict[str, int]
    credit: dict[str, int]
    cancel_while: tuple[str, ...]


NUMBERS: dict[int, Numbers] = {
    1: Numbers(
        2, 30, 30, {"standard": 10000, "gold": 20000, "platinum": 40000}, {"standard": 1000, "gold": 2500, "platinum": 5000},
        ("placed", "packed"),
    ),
    2: Numbers(
        3, 21, 21, {"standard": 8000, "gold": 15000, "platinum": 40000}, {"standard": 1500, "gold": 3000, "platinum": 5000},
        ("placed",)
    ),
}  # fmt: skip
APPROVED_UP_TO = 50000
CREDIT_PAUSE_DAYS = 180
DATES = {1: ("2024-12-09", "2025-01-01", "2025-07-01"), 2: ("2025-06-10", "2025-07-01", "")}
"""Version -> published, in force from, in force to (exclusive). The second was published three weeks early."""


def euro(minor: int) -> str:
    return f"{minor / 100:.2f} EUR"


def _tiers(amounts: dict[str, int]) -> str:
    return ", ".join(f"{euro(amount)} for {tier}" for tier, amount in amounts.items())


def refunds(version: int) -> tuple[str, list[str]]:
    n = NUMBERS[version]
    return "Refunds", [
        "## 1 What is refunded",
        f"1.1 Late delivery: where an order was delivered more than {n.late_days} days after the promised time, the "
        "shipping costs of the "
        "order are refunded. Reason: late_delivery. Otherwise the request is refused (refund_refused_not_late).",
        "1.2 Damaged item: the price of the damaged line, that is quantity times unit price, is refunded. Reason: damaged_item.",
        "1.3 Double charge: where two captured payments of an order have the same amount, the amount of the second "
        "one is refunded, "
        "whenever it is noticed. Reason: double_charge. A payment that was only authorised, failed or voided is not a charge "
        "(refund_refused_single_charge).",
        f"1.4 A request under 1.1 or 1.2 must arrive within {n.refund_days} days of delivery; later it is refused "
        "(refund_refused_window). "
        "What counts is the time at which the request arrived, not when it is handled.",
        "## 2 How much",
        f"2.1 A refund above the limit of the account's tier needs an approval first ({_tiers(n.approval_above)}). "
        "Without an approval, or "
        "where it is denied, the request is refused (refund_refused_approval).",
        "2.2 A refund is never more than the total of the order.",
        "## 3 How",
        "3.1 Read the order, and the account that it belongs to, before deciding about a refund.",
        "3.2 For a double charge, list the payments of the order before deciding; before asking for an approval, too.",
    ]


def orders(version: int) -> tuple[str, list[str]]:
    n = NUMBERS[version]
    return "Orders", [
        "## 1 Cancelling",
        f"1.1 An order may be cancelled only while its status is {' or '.join(n.cancel_while)}; afterwards the "
        "request is refused "
        "(cancel_refused_shipped).",
        "1.2 Read the order before deciding about a cancellation.",
        "## 2 Another delivery address",
        "2.1 The address may be changed only before shipping, while the order is placed or packed (else "
        "address_refused_shipped). "
        "Read the order first.",
        "2.2 It is changed only after an identity check: the postcode of the billing address and the phone number on "
        "file, as the requester "
        "tells them. Where they do not match, the request is refused (address_refused_identity).",
        "## 3 Exchanges",
        f"3.1 A line may be exchanged where the request arrives within {n.exchange_days} days of delivery (else "
        "exchange_refused_window).",
        "3.2 Read the order before deciding about an exchange.",
        "3.3 Lines marked as final sale are not exchanged (exchange_refused_final_sale).",
    ]


def accounts(version: int) -> tuple[str, list[str]]:
    n = NUMBERS[version]
    return "Accounts", [
        "## 1 Locked accounts",
        "1.1 A locked account is unlocked only after an identity check: the postcode of the billing address and the "
        "phone number on file, "
        "as the requester tells them. Where they do not match, the request is refused (access_refused_identity).",
        "## 2 Goodwill",
        f"2.1 A goodwill credit is exactly {_tiers(n.credit)}, by the tier of the account. Reason: goodwill.",
        f"2.2 No credit is granted where the account had any credit in the last {CREDIT_PAUSE_DAYS} days "
        "(credit_refused_recent).",
        "2.3 Read the account and list its credits before deciding about a credit.",
    ]


def policy_files() -> dict[str, str]:
    """File name -> Markdown text of every version of every document."""
    files = {}
    for document, make in (("refunds", refunds), ("orders", orders), ("accounts", accounts)):
        for version, (published, start, end) in DATES.items():
            title, clauses = make(version)
            front = [
                "---", f"document: {document}", f"version: {version}", f"title: {title}", f"published: {published}",
                f"in_force_from: {start}", f"in_force_to: {end}".rstrip(), "---",
            ]  # fmt: skip
            files[f"{document}-v{version}.md"] = "\n".join([*front, "", f"# {title}", "", *clauses]) + "\n"
    return files
