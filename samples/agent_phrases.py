"""The words of the supplier's agents: questions, internal notes and closing comments (which tell the outcome)."""

from __future__ import annotations

ASK = {
    "order_id": (
        "[Could you|Can you|Would you please] [send|tell|give] [me|us] the order number?",
        "Which order [is this about|do you mean]? The order number [would help|is on the slip].",
        "[I need|We need] the order number [to look into this|first], please.",
        "Which order is it? [The order no. starts with an A|It is in your confirmation].",
    ),
    "account_id": (
        "[Could you|Can you] [send|tell] me your account number?",
        "[I cannot|I can't] find this address here. What is your [account number|customer number]?",
        "Your customer number, please? [It is on every invoice.|It starts with a C.]",
    ),
    "product": (
        "Which item [is it|do you mean|is this about]?",
        "Which item of the order [is affected|should it be]?",
        "Which line of the order [do you mean|is it]?",
    ),
    "new_sku": (
        "Which variant would you like instead? [Please give the article number.|An article number would help.]",
        "What is the article number that you want [instead|in exchange]?",
        "Which product instead? The SKU, please.",
    ),
    "new_address": (
        "What is the new address?",
        "[Where|To which place] should we ship it to? Please give the [full|complete] new address.",
        "Could you send me the [complete |full |]new delivery address?",
    ),
    "identity": (
        "[For your security|Before I change anything|To check who is writing], [please tell me|I need] the postcode "
        "of the billing address and the phone number on file.",
        "[Please confirm|Could you confirm] the billing postcode and the phone number that we have on file.",
        "I have to check your identity: which postcode and which phone number are on file?",
    ),
    "delivered": ("When did it arrive[, roughly|]?", "Do you know when it was delivered?"),
}
HELLO = ("Hi {first},", "Hello {first},", "Dear {full},", "Hi,", "Hello,")
THANKS_FOR = (
    "[thank you|thanks] for [your message|writing to us|getting in touch].",
    "[I am|I'm] looking into [this|it].",
    "",
    "I have [picked up|taken over] your request.",
)
NOTES = (
    "[Checked the order, see app.|Looked at the history.]",
    "[Waiting for the customer.|Will come back to this after lunch.]",
    "[Second pair of eyes: fine with me.|Please do not reassign, I am on it.]",
)
PHONE_NOTES = (
    "Called {first}, got what I needed.",
    "{first} rang, sorted the details on the phone.",
    "Spoke to the customer on the phone, see above.",
)
LINKED = "Order app: record linked"
CLOSE = {
    "refund_granted": (
        "[good news:|] [the amount|your money] is [on its way back|being refunded] [to you|to your account].",
        "[I have|we have] booked the refund, [it takes a few days|you will see it soon].",
    ),
    "refund_refused_not_late": (
        "[I checked|we checked] the dates: it came within the time that we allow, so [no refund is possible|we "
        "cannot refund this].",
    ),
    "refund_refused_window": (
        "[unfortunately|sadly] the time for such a request [is over|has passed], so [no refund is possible|I have to say no].",
    ),
    "refund_refused_single_charge": (
        "[we collected|our bank shows] one payment only, so there is [nothing to refund|nothing to return].",
    ),
    "refund_refused_approval": (
        "[my manager|the approver] did not approve [this amount|it], so [I cannot refund it|the answer is no].",
    ),
    "order_cancelled": (
        "[done:|] the order is [cancelled|off].",
        "[I stopped|we stopped] the order in time, nothing will be sent.",
    ),
    "cancel_refused_shipped": (
        "the order is [too far along|already on its way out], [it cannot be cancelled|I could not stop it].",
    ),
    "address_changed": ("[done:|] the parcel will go to the new place.", "I have [changed|updated] the delivery address."),
    "address_refused_shipped": ("the parcel has [left|already left] our house, so the address stays as it was.",),
    "address_refused_identity": ("what you told me does not match our file, so I may not change the address.",),
    "exchange_created": ("the exchange is [booked|arranged], a label [follows|is on its way].",),
    "exchange_refused_window": ("[sadly|unfortunately] it is too late for an exchange.",),
    "exchange_refused_final_sale": ("this was a final sale, such lines are not exchanged.",),
    "access_restored": ("you can log in again.", "[I have|we have] unlocked your account."),
    "access_refused_identity": ("the data do not match our file, so the account stays locked.",),
    "credit_granted": ("[as a gesture|for the trouble] we put a credit on your account.",),
    "credit_refused_recent": ("you had a credit [not long ago|recently], so I cannot give another.",),
    "": ("[I hope that helps|that should answer it].", "[we have passed it on|somebody will be in touch]."),
}
MERGED_AWAY = 'This request was closed and merged into request #{other} "{subject}".'
MERGED_INTO = 'Request #{other} "{subject}" was closed and merged into this request. Last comment in request #{other}:\n\n{text}'
TAG_OF_CLASS = {"grant": "out_pos", "refuse": "out_neg"}
AUTOTAGS = ("mail_in", "lang_en", "b2b", "sla_std")
TRIVIAL = (
    "PARTNER PORTAL FORM 7 - pre-approved return booking. Carrier has signed off, claim is accepted by your returns "
    "desk, book as stated. "
    "Order {order}. {detail} No further check needed. [Batch|Run|Slip] {small}."
)
