"""The words of requesters. Every pool is drawn from without regard to the outcome, so no phrase tells it.

Square brackets hold alternatives, braces slots; {ord} is the order as this requester refers to it.
"""

from __future__ import annotations

GREETINGS = {
    "formal": ("Dear [Sir or Madam|Halden team|customer service team|colleagues],", "Good [morning|afternoon|day],"),
    "friendly": ("Hi [there|team|Halden team|all],", "Hello {agent},", "Hi {agent},", "Hello [everyone|dear team],"),
    "terse": ("", "", "Hi,", "Hello,"),
    "grumpy": ("Hello,", "", "To whom it may concern,", "Customer service,"),
    "chatty": (
        "Hi {agent}, [hope you are well!|how are things?|it's me again.]",
        "Hello [dear|lovely] [team|people],",
        "Hi there!",
    ),
    "lowercase": ("hi,", "hello,", "", "hey [there|all],"),
    "hasty": ("Hi,", "Hello -", "Hey,", ""),
}
CLOSINGS = {
    "formal": ("Kind regards", "Yours [sincerely|faithfully]", "With [best|kind] regards", "Best regards"),
    "friendly": (
        "[Best|Warm|Many] [wishes|greetings]",
        "Thanks [a lot|so much|very much]!",
        "[Best|Cheers]",
        "Have a [nice|good] day",
    ),
    "terse": ("Thanks", "Regards", "", "BR"),
    "grumpy": ("Regards", "Waiting for your answer", "I expect [a reply|an answer] soon"),
    "chatty": (
        "[Lots of|Sunny] greetings from [the office|the third floor|our team]",
        "Thank you and [take care|all the best]!",
        "See you [next time|around]",
    ),
    "lowercase": ("thx", "thanks", "cheers", "regards"),
    "hasty": ("Thx", "rgds", "Sent from my phone", "Thanks!"),
}
SUBJECTS = {
    "late": (
        "[Delivery|Shipping] [costs|fee|charge]",
        "[Question|Request] about [a delivery|shipping costs]",
        "Late [delivery|parcel|order]",
        "Refund [of shipping|request]",
        "[About|Regarding] our delivery",
    ),
    "damaged": (
        "[Damaged|Broken] [item|goods|delivery]",
        "Problem with [a delivery|an item|our order]",
        "[Refund|Money back] for [a damaged item|broken goods]",
        "Item [not ok|damaged]",
    ),
    "double": (
        "[Charged|Billed|Debited] twice",
        "[Payment|Invoice|Billing] [question|problem|issue]",
        "[Double|Two] [charge|charges|debits]",
        "Our [card|bank] statement",
    ),
    "cancel": (
        "[Cancel|Cancellation of] [an order|order|our order]",
        "Order [no longer needed|to be cancelled]",
        "Please [stop|cancel] [this|an order]",
        "[Change of plans|Cancellation]",
    ),
    "address_change": (
        "[New|Different|Other] [delivery address|address|destination]",
        "[Delivery|Shipping] address",
        "[Address|Change of address] for [an order|our order]",
        "Please [redirect|reroute] [our order|a parcel]",
    ),
    "exchange": (
        "[Exchange|Swap] [an item|request|of goods]",
        "[Wrong|Other] [variant|version|colour] [wanted|needed]",
        "[Change|Replace] [an article|item]",
        "Exchange [please|question]",
    ),
    "account_recovery": (
        "[Account|Login] [locked|blocked|problem]",
        "[Cannot|Can't] [log in|sign in|get in]",
        "[Locked|Shut] out",
        "[Access|Log-in] to [the shop|our account]",
    ),
    "goodwill": (
        "[Not happy|Disappointed] with [the service|your service]",
        "[Complaint|Feedback] [about service|and a request]",
        "[Goodwill|Voucher|Credit] [question|request]",
        "[Our|My] [experience|last weeks] with you",
    ),
    "question": (
        "[Question|Enquiry] about [products|the range|your catalogue]",
        "[Opening|Office] hours",
        "[Catalogue|Price list] [request|please]",
        "[General|Quick] question",
    ),
}
CONTEXT = {
    "late": (
        "We had [planned|counted on] it for [a workshop|new colleagues|an audit|the move].",
        "[The team|Everybody here|Our crew] was waiting for [it|the goods].",
        "[Nobody|No one] told us [anything|about a delay].",
        "The [tracking page|carrier's page] was [no help|useless].",
        "We pay for [delivery|shipping] so that things [come|arrive] [when you say|on the day].",
    ),
    "damaged": (
        "The box [looked|was] [fine|normal] from outside.",
        "The [driver|courier] [just left it|dropped it] at the [gate|front desk].",
        "One corner is [cracked|bent|smashed] and [it wobbles|it does not close|it will not start].",
        "I can send [pictures|photos] if you [like|want].",
        "[There is|I see] a [deep scratch|big dent|crack] across the [front|side|back].",
    ),
    "double": (
        "[Accounting|Our bookkeeper|Finance] [noticed|found|spotted] it [when closing the month|yesterday|while "
        "checking the statement].",
        "[Our bank|The bank] says [the money is gone|to ask you].",
        "The [two|2] [amounts|bookings] look [the same|identical] to me.",
        "I only [pressed the button|clicked pay|confirmed] once.",
        "[Please check|Could you look] [on your side|in your system] too.",
    ),
    "cancel": (
        "Our [project|budget|event] [was stopped|changed|fell through].",
        "A colleague [ordered the same|had already ordered one].",
        "We [found|still had] [some|one] in [the storeroom|the basement|another branch].",
        "[My boss|Management] [changed their mind|wants something else].",
        "[It was ordered|I ordered it] by [mistake|accident].",
    ),
    "address_change": (
        "We are [moving|relocating] [these days|this month].",
        "The [old site|present site|building] is [closed for works|being rebuilt|no longer staffed].",
        "Our [reception|goods-in] [has changed|sits elsewhere now].",
        "[Nobody|No one] is at the [old office|other place] to [sign|take it].",
        "The [goods|things] are [needed|meant] for [another branch|a different site|the new office].",
    ),
    "exchange": (
        "The colour does not [match|go with] [the rest|our furniture|the room].",
        "It [turned out|is] [too bright|too dark|not what the team wanted].",
        "[We picked|I picked|My colleague chose] the wrong [version|variant] in the shop.",
        "It is [unused|still in its box|unopened].",
        "The [room|desk|corner] [needs|calls for] another [colour|finish].",
    ),
    "account_recovery": (
        "[After a few tries|Since this morning|All of a sudden] it says [the account is locked|access denied|blocked].",
        "I [must have|probably] [mistyped|confused] my password.",
        "[We have|There is] an order to [place|check] [today|urgently|soon].",
        "The reset mail [does not help|changes nothing].",
        "My [password manager|browser] kept [filling in|sending] [an old password|the wrong one].",
    ),
    "goodwill": (
        "[I was on hold|We hung on the line|I waited] for [ages|three quarters of an hour|very long] [last week|the other day].",
        "[My mails|Our messages] [stayed unanswered|went nowhere] for days.",
        "The [driver|technician] was [rude|unfriendly] [again|to our receptionist].",
        "[Twice|Three times] [I got|we were given] [different|contradicting] answers.",
        "[Usually|Normally] we are [happy|content] [with you|customers].",
    ),
}
REQUESTS = {
    "late": (
        "[I would like|I'd like|We would like|We want] the [shipping costs|delivery fee|shipping fee|postage] for "
        "{ord} [back|refunded|returned], as it [came|arrived|turned up] [later than promised|too late|after the "
        "promised day].",
        "{ord_cap} [arrived|came|reached us] [late|after the promised date|behind schedule]. [Please refund|Could "
        "you refund|Kindly return] the [shipping|delivery] [costs|charge].",
        "[Since|As|Because] {ord} [was late|was delayed|missed its date], [may we have|can we get|we ask for] the "
        "[shipping money|delivery charge|shipping costs] back[?|, please.|.]",
        "[Can|Could|Would] you [pay back|reimburse|refund] the [freight|shipping|delivery] [costs|part] of {ord}? It "
        "[did not come in time|was overdue|came late].",
        "The [parcel|boxes|goods] from {ord} [took longer than|did not keep to] [you said|the promise|the date "
        "given]; [I ask|we are asking] for [a refund of shipping|the shipping costs].",
        "[Your promise|The promised date] for {ord} was [not kept|missed]. [What about|How about] [the shipping "
        "costs|returning the delivery fee]?",
    ),
    "damaged": (
        "[The|One] {product} from {ord} [is broken|arrived damaged|came damaged|has a defect]. [I want|We would "
        "like|Please arrange] [my money back|a refund|the price back].",
        "[We unpacked|I opened|My colleague unpacked] {ord} and the {product} [was damaged|is in pieces|is not "
        "usable]. [Please refund|Kindly refund|Could you refund] it.",
        "[Unfortunately|Sadly|Alas] the {product} of {ord} [cannot be used|is damaged|broke on the way]. "
        "[Can|Could|May] [we|I] [have|get] [the money|a refund] for it?",
        "[Please|Kindly] [pay back|refund|reimburse] the {product} [in|from|of] {ord}: it [arrived|reached us] "
        "[broken|damaged|with a crack].",
        "[Transport damage|Damage] on the {product} [we got|that came] with {ord}. [We ask for|I request|Requesting] a refund.",
        "[What do I do|How do we go on|Who helps] with a [broken|damaged] {product}? It was [part of|in] {ord} and "
        "[I want|we want|we'd like] the price [back|refunded].",
    ),
    "double": (
        "[We were|I was|My card was|Our account was] [charged|debited|billed] [twice|two times] for {ord}. [Please "
        "return|Please refund|Kindly pay back] [one of them|the second one|the extra charge].",
        "[There are|I see|We see] two [debits|charges|bookings] for {ord} on our [statement|account|card]. "
        "[Could|Can|Would] you [refund|return] [one|the second]?",
        "{ord_cap} [shows up|appears|is listed] twice on [the statement|our card bill|my account]. [I ask|We ask] "
        "for [one amount|the surplus|the double one] back.",
        "[It seems|Looks like|Apparently] you [took|collected|charged] the money for {ord} two times. [Refund|Pay "
        "back] [the extra one|the second payment], please.",
        "[Why|How come] did we pay [twice|double] for {ord}? [Please|Kindly] [correct|fix] [this|it] and "
        "[return|refund] the [second charge|surplus].",
    ),
    "cancel": (
        "[Please|Kindly] [cancel|call off|stop|withdraw] {ord}.",
        "[I would like|I'd like|We want|We need] to [cancel|call off|withdraw] {ord}[, please|].",
        "[Can|Could|Would] you [cancel|stop|take back] {ord}[ for us| for me|]? We [no longer|don't] need it.",
        "We [do not|don't] need {ord} any more, [please cancel it|so kindly cancel|can it be stopped]?",
        "{ord_cap} [should be|has to be|must be] [cancelled|called off|stopped][, please|].",
        "[Is it possible|Would it be possible|Is there a way] to [cancel|stop|call off] {ord}?",
        "[There's been|We have] a change: {ord} is [not needed|obsolete|no longer wanted]. [Cancel it|Cancellation], please.",
    ),
    "address_change": (
        "[Please|Kindly] [send|deliver|ship] {ord} to [another|a different|a new] address.",
        "[I'd like|We would like|We need] {ord} to [go|be sent|be delivered] [somewhere else|to another place|to a "
        "different site].",
        "[Can|Could|Would] you [change|update|correct] the [delivery|shipping] address of {ord}?",
        "The [delivery|shipping] address of {ord} [has changed|is wrong|is outdated]. [Please update it|Kindly "
        "correct it|Could you change it?]",
        "{ord_cap} [must|should|needs to] go to [a new|a different|another] [address|destination|site].",
        "[How can I|How do we|Is there a way to] [redirect|reroute] {ord} to [another|our other|the new] [site|address]?",
    ),
    "exchange": (
        "[I'd like|We would like|We want] to [exchange|swap|change] the {product} from {ord} [for another "
        "version|for a different one|].",
        "[Can|Could|May] [we|I] [exchange|swap|trade] the {product} [of|in|from] {ord}[ for another variant| for a "
        "different article|]?",
        "[Please|Kindly] [exchange|swap|replace] the {product} that [came with|was in] {ord}.",
        "The {product} [from|in|of] {ord} [is not the right one|does not suit us|should be another model]. [We ask "
        "for|I would like|Please arrange] an exchange.",
        "[About|Regarding|Concerning] {ord}: [we'd rather have|I need|we need] the {product} in [another version|a "
        "different variant].",
        "[Is|Would] an exchange [of|for] the {product} [possible|ok]? It [was|came] in {ord}.",
    ),
    "account_recovery": (
        "[I cannot|I can't|We cannot] [log in|sign in|get into the shop] [any more|anymore|since yesterday]; [please "
        "unlock|could you unlock|kindly open] [my|our|the] account.",
        "[My|Our|The] [account|login|shop access] is [locked|blocked]. [Please|Could you|Would you] "
        "[unlock|reopen|release] it[.|, please.]",
        "[Please|Kindly|Could you] [unlock|reactivate|free] [my|our] [account|shop account|access].",
        "[Somehow|For some reason] [I am|we are] [locked|shut] out of [the shop|our account]. [Can you help|Please "
        "help|What can be done]?",
        "The shop [does not let me in|refuses my login|says locked]. [I need|We need] [access|my account] [back|again].",
    ),
    "goodwill": (
        "[I think|We feel|In my view] a [small credit|goodwill credit|gesture] [would be|is] [fair|in "
        "order|appropriate] after [all this|the last weeks|such service].",
        "[Could|Can|Would] you [grant|offer|give] us a [goodwill credit|credit|small compensation] for the "
        "[trouble|bother|poor service]?",
        "[I'd like|We'd like|I want] to ask for a [credit|goodwill gesture|goodwill credit] on [our|my|the] account.",
        "[Please|Kindly] [consider|think about|book] a [goodwill credit|credit] for [us|me|our account], the service "
        "was [poor|not good|below your standard].",
        "After [what happened|this experience|such a mess] [a credit|some goodwill|a gesture] [would help|would be "
        "nice|is the least].",
    ),
    "question": (
        "[Do you have|Can you send|Could I get] [a new catalogue|the price list|a list of desks]?",
        "[When|At what times] is your [showroom|hotline|warehouse] open[ on Fridays| in summer|]?",
        "[Which|What] [chairs|lamps|shelves] [would you recommend|do you recommend|suit] for [a small office|a "
        "library|tall people]?",
        "[Is there|Do you offer] [training|a demo|a trial] for the [label printers|conference cameras]?",
    ),
}
FILLERS = (
    "[Please|Kindly] [confirm|let me know|tell us] by [mail|return|e-mail].",
    "[A short answer|A quick note|One line] is enough.",
    "[I am|We are] in the office until [four|five|half past three] [most days|today|on weekdays].",
    "[My colleague|A colleague] {third} [asked me to write|knows the details|is in copy].",
    "[Thank you|Thanks] for [looking into it|your help|checking|taking care].",
    "[This is|It's] my [first|second] [mail|message] about it.",
    "[Sorry|Apologies] for the [trouble|bother|long mail].",
    "[We have been|We are] customers [for years|since the beginning|for quite a while].",
    "[Let me know|Tell me] if you [need|miss] anything[ else|].",
    "[The order was|It was ordered|We ordered] on {date}.",
    "[I hope|Hopefully] [this|it] [can be sorted|works out|is quick].",
    "[It is|That's] [quite|rather|fairly] [urgent|important] [for us|here].",
    "[No hurry|No rush], [any day this week|whenever you can] [is fine|works].",
    "[Our|The] [team|department|branch] is [waiting|asking].",
    "[Please|Kindly] [answer|reply] to [this address|me directly].",
    "[Last time|Earlier this year] you were [quick|helpful|very kind].",
    "[I could not|I did not] find [a form|a button|anything] for [this|it] [in the shop|on your site].",
    "[What|Which] [do you need|information do you need] from [me|us]?",
    "[Your hotline|The phone line] [was busy|played music for a while].",
    "[You|Your team] [surely|probably] [know|knows] what to do.",
    "[There is|We have] [a public holiday|a stocktaking|an office party] [soon|this week].",
    "[By the way|PS], [the new catalogue|your newsletter] [is nice|looks good].",
    "[I have|We have] [written it down|noted it] [for our files|for the records].",
    "[If possible|Ideally] [before the weekend|this week|soon].",
    "[Feel free|Do not hesitate] to [ask|write back].",
    "[I'm|I am] [new here|standing in for someone], so [bear with me|excuse any mistake].",
    "[Our internal reference|Our file] is [blue|green|red]-{small}.",
)
GIVE = {
    "order_id": (
        "[The order number is|Order number:|It is order|Our order no. is] {order}.",
        "[That's|It's|The number is] {order}.",
        "{order} [is the number|is the one|I think].",
        "[I found it:|Here it is:|On the slip it says] {order}.",
    ),
    "account_id": (
        "[The account number is|Account number:|Our account is|We are customer] {account}.",
        "[It's|That is] {account}.",
        "{account} [is our number|says the invoice].",
    ),
    "product": ("[It's|It is|That's] the {product}.", "The {product}[, please|].", "[I mean|We mean] the {product}."),
    "new_sku": (
        "[Please make it|We would like|I'd take] article {sku}.",
        "[The article number is|The one we want is|Instead we need] {sku}.",
        "{sku}[, please| instead|].",
    ),
    "new_address": (
        "[Please send it to|The new address is|It should go to|Deliver it to] {address}.",
        "{address}.",
        "[New address:|Destination:|Ship to:] {address}.",
    ),
    "identity": (
        "[The postcode is|Postcode:|Billing postcode] {postcode}[ and the phone is| and phone|, phone number] {phone}.",
        "{postcode} [and|/] {phone}.",
        "[It should be|That would be|We have] {postcode} [as postcode|for the postcode] and {phone} [as phone|for the phone].",
    ),
}
"""How a requester tells something, in the opening or in an answer."""
ANSWER_LEAD = (
    "",
    "",
    "",
    "[Sure|Of course|Yes|Ok], ",
    "[Thanks for the quick reply|Thank you for getting back to me]. ",
    "[Sorry|Ah], [forgot that|I should have said]. ",
    "Hi {agent}, ",
)
DONT_KNOW = (
    "[I don't|I do not] [know|have] that, sorry.",
    "[No idea|Not sure], [I was not|nobody was] [there|in the office].",
    "[I can't|I cannot] [tell|say], [sorry|I'm afraid].",
)
VOLUNTEER_LEAD = (
    "[One more thing|Forgot to say|I should add]: ",
    "[Addition to my mail|PS to my last mail]: ",
    "[In case you need it|Before you ask]: ",
)
THANKS = (
    "[Perfect|Great|Super], thank you[!|.]",
    "[Ok|Alright], [understood|noted].",
    "[Thanks|Thank you] for [the reply|letting me know].",
    "[Hmm|Well], [ok then|so be it].",
)
RATING = {
    "good": ("[quick|fast] and [friendly|clear]", "[solved|all fine]", "[great|very good] [help|service]"),
    "bad": ("[not what I hoped for|I expected more]", "[no help at all|unhelpful]", "[too strict|inflexible]"),
}
ORDER_WORDS = ("[my|our|the] [order|last order|recent order]", "[the|our] [delivery|shipment|order]", "[my|our] order with you")
