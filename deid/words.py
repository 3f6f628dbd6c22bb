"""Words that open sentences and letters and are nobody's name, whatever a supplier's own texts show."""

from __future__ import annotations

from deid.fold import word_set

COMMON = word_set(
    """
a about above account accounts actually address after afternoon again agent all almost already also although always am amount
an and another any anyone anything apologies apology appreciate approval april are around arrived article as ask asked asking
assistance at august available away back bad because been before being best better between big both bought box bring broken
but button buy by bye call called came can cancel cannot card care case change charge charged cheers check checked claim
click close closed code colleague colleagues come comes coming company complaint concerning confirm confirmed confirmation
contact correct cost could courier credit customer customers damage damaged date day days dear december decline declined
delay delayed deliver delivered delivery department did different discount do does doing done dont double due during each
early either email emails end english enough error euro euros even evening ever every everyone everything exchange exactly
expected extra faithfully faulty february few finally find fine first five following for forgot forward found four friday
from full further get gets getting give given go goes going gold good goods got great greetings guys had half happen happened
happy has have having he hello help her here hey hi hing his hold home hope hoping hour hours house how however i if im
immediately important in info information instead internal into invoice is issue issues it item items its january july june
just keep kind kindly know last late later least let letter like line list little locked login long look looking looks lost
lot love made madam mail make manager many march matter may maybe me mean message might mind minute minutes missed missing
mistake moment monday money month months more morning most move moved mr mrs ms much must my name need needed needs never new
next nice night no nobody none nope nor not note nothing notice noticed november now number numbers october of off offer
office often ok okay old on once one ones only open opened or order ordered orders other our out over own pack packed package
page paid parcel part parts password pay payment payments pending people per person phone pick piece place placed platinum
please pm policy possible post postcode previous price problem problems product products promise promised proof put quality
question questions quick quickly quite ran rather re read ready really reason receipt receive received recently record
records refund refunded refunds refused regarding regards reference reply replied report request requested requester
requesting resend reset resolved respond response return returned right said sale same saturday saw say says second see seem
seems seen send sending sent september service set several shall she shipment shipped shipping shop should show sick side
sign signed simply since sincerely single sir six size small so some somebody someone something soon sorry speak staff
standard start started state status still stop store street such sunday support sure system take taken talk team tell ten
test than thank thanking thanks that the their them then there therefore these they thing things think third this those
though three through thursday ticket time times to today together told tomorrow too took total track tracking transfer tried
try trying tuesday twice two unable under unfortunately unlock until up update updated upset urgent us use used user using
usual very via wait waited waiting want wanted wants warehouse warm was way we wednesday week weeks welcome well went were
what whatever when where whether which while who why will window wish with within without wonder wondering word work working
works worth would write writing wrong yeah year years yes yesterday yet you your yours
"""
)
"""Folded English words of service letters. One that stands in a record's name fields ("may", "will") counts as a name there."""

OTHER_LANGUAGES = {
    language: frozenset(words.split())
    for language, words in {
        "German": "der die das und ist nicht ich sie wir ein eine mit für auf von zu den dem des auch sich bei nach wie aber "
        "oder haben habe",
        "French": "le la les et est une des du dans pour que qui pas nous vous je avec sur ce cette mon votre bonjour merci "
        "mais sont",
        "Spanish": "el la los las y es una de que no en por para con mi su se lo como pero muy gracias hola esta este pedido",
        "Italian": "il lo gli le e un una di che non in per con mi si sono ho ha ma come grazie ciao questo questa ordine",
        "Dutch": "de het een en is niet ik van je dat op te met voor zijn aan maar ook mijn uw wij heb heeft bestelling",
        "Polish": "i w nie na się z do jest że to jak ale za od po czy moje proszę zamówienie dziękuję",
        "Portuguese": "o os um uma e que não de em para com por meu minha está mas obrigado obrigada pedido foi",
    }.items()
}
"""The commonest words of languages that a text may turn out to be in."""

ENGLISH = word_set(
    """
the a an and is are was were be been i you we they it my your our this that not to of in on for with have has had do does did
can could will would please at but as if from
"""
)
