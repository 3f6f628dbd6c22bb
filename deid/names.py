"""Parts and variants of a person's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from deid.fold import WORD, fold_word, word_set

TITLES = word_set(
    """
mr mrs ms miss mx dr prof herr frau sir madam dipl ing
"""
)
PARTICLES = word_set(
    """
van von der den de la le di da del dos du zu ter ten bin al el st
"""
)
SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md"])
NICKNAMES: dict[str, tuple[str, ...]] = {
    formal: tuple(short.split())
    for formal, short in {
        "aleksandra": "ola sasha", "alexander": "alex sandy xander sasha", "alexandra": "alex sandra sandy sasha lexi",
        "alexis": "alex lexi", "anastasia": "nastya stasia", "andrea": "andi andy", "andreas": "andi andy",
        "andrew": "andy drew", "angela": "angie", "anna": "annie anni ann", "anne": "annie", "anthony": "tony",
        "antonia": "toni", "antonio": "toni tony", "barbara": "barb babs", "benjamin": "ben benny benni", "bernhard": "bernd",
        "catherine": "cathy kate katie cat", "charles": "charlie chuck", "charlotte": "charlie lotte lottie",
        "christian": "chris", "christina": "chris tina chrissy", "christine": "chris tina chrissy", "christoph": "chris",
        "christopher": "chris", "clara": "clari", "daniel": "dan danny dani", "daniela": "dani", "david": "dave",
        "deborah": "debbie deb", "dmitri": "dima mitya", "dolores": "lola", "dominik": "nik dom", "dorothea": "dora thea",
        "dorothy": "dot dotty", "edward": "ed eddie ted", "ekaterina": "katya katja", "eleanor": "ellie nell nora",
        "elena": "lena", "elisabeth": "lisa liz beth betty sissi elli lizzy",
        "elizabeth": "liz beth betty lizzie lizzy eliza", "emily": "em emmy", "eric": "rick", "eva": "evi", "felix": "fel",
        "florian": "flo", "frances": "fran", "francesca": "fran", "francis": "frank", "francisco": "paco",
        "franziska": "franzi", "frederick": "fred freddy", "frederik": "fred rick freddie", "friedrich": "fritz",
        "gabriel": "gabe", "gabriele": "gabi", "georg": "schorsch", "gerald": "gerry", "gertrud": "trudi",
        "giovanni": "gianni", "giuseppe": "beppe", "gregory": "greg", "guillermo": "memo", "hannah": "hanni",
        "harold": "harry", "heinrich": "heinz", "helena": "lena", "helene": "lena leni", "henry": "harry hank",
        "ignacio": "nacho", "isabella": "bella isa", "jacob": "jake", "jakob": "jake", "james": "jim jimmy jamie",
        "jaroslav": "jarek", "jennifer": "jen jenny jenni", "jessica": "jess jessie", "joanna": "jo asia joasia",
        "johanna": "hanna jo", "johannes": "hannes jo", "john": "jack johnny jon", "jonathan": "jon jonny nathan",
        "jorge": "coco", "jose": "pepe", "josef": "sepp jo", "joseph": "joe joey", "joshua": "josh", "juan": "juanito",
        "judith": "judy", "julia": "jule julie", "julian": "jule", "karolina": "karo lina", "katarina": "kat kate katja",
        "katarzyna": "kasia", "katharina": "kathi kat kate kathe katja", "katherine": "kate kathy katie kat",
        "kathleen": "kathy", "kenneth": "ken kenny", "kimberly": "kim", "konstantin": "kosta", "laura": "lauri",
        "lawrence": "larry", "leonard": "leo len", "leonhard": "leo", "lucas": "luke", "ludwig": "lutz",
        "magdalena": "lena magda", "malgorzata": "gosia", "manfred": "manni", "manuel": "manu", "manuela": "manu",
        "margaret": "maggie meg peggy", "margarete": "grete gretel", "margarethe": "greta grete gretel", "margarita": "rita",
        "maria": "mia mary", "markus": "mark", "martin": "marty", "martina": "tina", "matthew": "matt",
        "matthias": "matze matt", "maximilian": "max", "mehmet": "memo", "melanie": "mel melli",
        "michael": "mike mick micha michi", "michaela": "michi", "michelle": "shelly", "mikhail": "misha", "miriam": "miri",
        "mohamed": "mo", "mohammed": "mo", "monika": "moni", "muhammad": "mo", "natalia": "nata natasha talia",
        "natalie": "nat", "nathaniel": "nate nathan", "nicholas": "nick nicky", "nicola": "nico nicki",
        "nicolas": "nico nick", "nicole": "nicky niki nico", "nikola": "niko", "nikolaus": "nik klaus niko nico",
        "oliver": "oli ollie olli", "olivia": "liv livvy", "pamela": "pam", "patricia": "pat patty tricia trish",
        "patrick": "pat paddy rick", "patrizia": "pat", "peter": "pete", "philip": "phil", "philipp": "phil",
        "rafael": "rafa raffi", "raphael": "rafa raffi", "raymond": "ray", "rebecca": "becky becca", "ricardo": "rico",
        "richard": "rick dick rich richie", "robert": "rob bob bobby robbie bert", "roberto": "beto", "ronald": "ron ronny",
        "rosemarie": "rosi", "sabine": "bine", "salvatore": "toto", "samantha": "sam", "samuel": "sam sammy",
        "sandra": "sandy", "sarah": "sally", "sebastian": "basti seb", "sergio": "checo", "sophia": "sophie",
        "stefan": "steff", "stefanie": "steffi", "stephanie": "steph steffi", "stephen": "steve", "steven": "steve",
        "susan": "sue susie", "susanne": "susi sanne", "tatiana": "tanya tania", "teresa": "terry tess resi",
        "thaddeus": "tad", "theodor": "theo", "theodore": "ted theo", "theresa": "terry tess resi", "thomas": "tom tommy",
        "timothy": "tim timmy", "tobias": "tobi", "ulrich": "uli", "ulrike": "ulli rike", "ursula": "uschi",
        "valentina": "vale tina", "veronika": "vroni", "victoria": "vicky tori", "viktoria": "vicky", "vincent": "vince",
        "vladimir": "vova wolodja", "walter": "walt", "wilhelm": "willi willy", "william": "will bill billy liam",
        "wolfgang": "wolf wolfi", "yannick": "yann", "zachary": "zach zack", "zbigniew": "zbyszek",
    }.items()
}  # fmt: skip
"""Folded first name -> the short forms that people sign with (English and German)."""


@dataclass(frozen=True, slots=True)
class Name:
    """Folded parts. `last` may hold several words ("van der berg"); either may be empty."""

    first: str
    last: str
    words: tuple[str, ...]

    @property
    def full(self) -> str:
        return f"{self.first} {self.last}".strip()


@lru_cache(maxsize=100_000)
def parse_name(text: str) -> Name:
    """ "Dr. Anna-Lena van Dyk", "van Dyk, Anna-Lena" -> first "anna lena", last "van dyk"."""
    before, comma, after = text.partition(",")
    first_last = f"{after} {before}" if comma and after.strip() and fold_word(after.strip(" .")) not in SUFFIXES else text
    chunks = [c for c in re.split(r"[\s,.]+", first_last) if WORD.search(c)]
    parts = [" ".join(fold_word(m.group()) for m in WORD.finditer(chunk)) for chunk in chunks]
    while len(parts) > 1 and parts[0] in TITLES:
        parts.pop(0)
    while len(parts) > 1 and parts[-1] in SUFFIXES:
        parts.pop()
    words = tuple(" ".join(parts).split())
    if not parts:
        return Name("", "", ())
    if len(parts) == 1:
        return Name(parts[0], "", words)
    cut = next((i for i in range(1, len(parts) - 1) if parts[i] in PARTICLES), len(parts) - 1)
    return Name(parts[0], " ".join(parts[cut:]), words)


def same_person_name(one: Name, other: Name) -> bool:
    """True if two full names may be one person's: equal last words and equal, short or initial first names."""
    if not (one.last and other.last):
        return one.first == other.first
    if one.last != other.last and not (min(len(one.last), len(other.last)) == 1 and one.last[0] == other.last[0]):
        return False
    a, b = one.first, other.first
    return a == b or short_form(a, b) or short_form(b, a)


def short_form(short: str, first: str) -> bool:
    """True if `short` is an initial, a known nickname or the beginning (3 letters or more) of `first`."""
    return short in NICKNAMES.get(first, ()) or (first.startswith(short) and len(short) != 2 and short != first)


def one_edit(a: str, b: str) -> bool:
    """True for one substitution, insertion, deletion or swap of neighbours; False for equal words."""
    if a == b or abs(len(a) - len(b)) > 1:
        return False
    if len(a) > len(b):
        a, b = b, a
    start = 0
    while start < len(a) and a[start] == b[start]:
        start += 1
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    if a[start + 1 :] == b[start + 1 :]:
        return True
    return a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
