"""The supplier's customers: organisations, the people in them, their addresses and accounts; and the supplier's own agents."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from random import Random

from samples.catalogue import Address, Ids, draw_address
from samples.clock import DAY, YEAR_START

FIRST: tuple[str, ...] = (
    "Anna", "Alexander", "Aylin", "Ágnes", "Andreas", "Beatriz", "Benjamin", "Björn", "Camille", "Carlos", "Catherine",
    "Chiara", "Christopher", "Daniel", "Daria", "David", "Edward", "Elif", "Elisabeth", "Emre", "Éva", "Fatima", "Felix",
    "Florian", "Franziska", "Frederik", "Giulia", "Gregor", "Hannah", "Henrik", "Ines", "Ivana", "Jakub", "Jana", "Jens",
    "Joanna", "Johanna", "Jonas", "José", "Judith", "Julian", "Kamil", "Katarzyna", "Katharina", "Kenji", "Konstantin",
    "Lena", "Leonhard", "Linh", "Lukas", "Magdalena", "Malik", "Marek", "Margarethe", "María", "Matthias", "Maximilian",
    "Mehmet", "Michael", "Mirjam", "Moritz", "Nadia", "Natalia", "Nicolas", "Nikolaus", "Noémie", "Oğuz", "Olga", "Oliver",
    "Patricia", "Paulina", "Philipp", "Priya", "Rafael", "Rebecca", "Richard", "Robert", "Sabine", "Samuel", "Şeyma",
    "Sebastian", "Sofía", "Stefanie", "Susanne", "Sven", "Theresa", "Thomas", "Tomáš", "Valentina", "Victoria", "Wiebke",
    "William", "Yasmin", "Zoë",
)  # fmt: skip
LAST: tuple[str, ...] = (
    "Abadi", "Albrecht", "Andersen", "Arslan", "Bach", "Baumgartner", "Becker", "Berg", "Bianchi", "Böhm", "Brandt",
    "Bruckner", "Çelik", "Costa", "Dąbrowski", "Demir", "Dietrich", "Dubois", "Ebert", "Engel", "Erdoğan", "Esposito",
    "Fernández", "Fischer", "Frank", "Friedrich", "García", "Geiger", "Graf", "Groß", "Grünwald", "Haas", "Hansen",
    "Hartmann", "Heinze", "Herrmann", "Hofer", "Horvat", "Huber", "Ivanova", "Jäger", "Jansen", "Jensen", "Kaiser", "Kaya",
    "Keller", "Klein", "Koch", "Köhler", "Kowalski", "Kramer", "Krüger", "Lange", "Larsson", "Lehmann", "Lindqvist",
    "López", "Lorenz", "Maier", "Marino", "Martin", "Meyer", "Möller", "Moreau", "Müller", "Nagy", "Neumann", "Nguyen",
    "Novák", "Nowak", "O'Brien", "Öztürk", "Patel", "Peeters", "Petrov", "Pohl", "Popescu", "Raab", "Richter", "Rossi",
    "Roth", "Ruiz", "Sander", "Schäfer", "Schmitt", "Schneider", "Schröder", "Schulz", "Seidel", "Silva", "Sokolov",
    "Sommer", "Stein", "Szabó", "Tanaka", "Thiel", "Ümit", "Vargas", "Vogel", "Wagner", "Walter", "Weber", "Weiß",
    "Winkler", "Wójcik", "Yıldız", "Zeller", "Zhang", "Ziegler", "Żak",
)  # fmt: skip
NICKNAMES: dict[str, str] = {
    "": "", "Alexander": "Alex", "Andreas": "Andi", "Benjamin": "Ben", "Catherine": "Kate", "Christopher": "Chris",
    "Daniel": "Dan", "David": "Dave", "Edward": "Ed", "Elisabeth": "Lisa", "Franziska": "Franzi", "Frederik": "Fred",
    "Johanna": "Jo", "Joanna": "Asia", "José": "Pepe", "Judith": "Judy", "Katarzyna": "Kasia", "Katharina": "Kathi",
    "Konstantin": "Kosta", "Leonhard": "Leo", "Magdalena": "Magda", "Margarethe": "Greta", "Matthias": "Matze",
    "Maximilian": "Max", "Michael": "Mike", "Natalia": "Nata", "Nicolas": "Nico", "Nikolaus": "Klaus", "Patricia": "Pat",
    "Philipp": "Phil", "Rafael": "Rafa", "Rebecca": "Becky", "Richard": "Rick", "Robert": "Rob", "Samuel": "Sam",
    "Sebastian": "Basti", "Stefanie": "Steffi", "Susanne": "Susi", "Theresa": "Resi", "Thomas": "Tom", "Victoria": "Vicky",
    "Valentina": "Vale", "William": "Bill",
}  # fmt: skip
ORGANISATIONS: tuple[str, ...] = (
    "Alsterwerk Logistik", "Bergmann Klinikbedarf", "Cobalt Creative", "Dorfbäckerei Union", "Elbtal Maschinenbau",
    "Fjordline Reisen",
    "Grünstein Architekten", "Hanse Analytics", "Isarblick Hotels", "Jadewind Energie", "Kiefer und Söhne Druck",
    "Lumen Schulverlag",
    "Marlow Games", "Nordkap Fisch", "Ostsee Pharma", "Pixelhof Medien", "Quarzit Labor", "Rheinfalter Textil",
    "Sonnenhügel Pflege",
    "Talblick Versicherung", "Uferlos Festival", "Viadukt Ingenieure", "Waldmann Forsttechnik", "Zeitgeist Personal",
)  # fmt: skip
AGENTS: tuple[tuple[str, str], ...] = (
    ("Lena", "Hollmann"), ("Piotr", "Zieliński"), ("Marta", "Oliveira"), ("Jonas", "Reuter"), ("Selin", "Aksoy"), ("Tobias",
    "Wirth"),
    ("Ingrid", "Dahl"), ("Ravi", "Menon"), ("Clara", "Benedikt"), ("Uwe", "Harms"), ("Noor", "El Amrani"), ("Karel", "Dvořák"),
)  # fmt: skip
SUPPLIER_DOMAIN = "halden-office.example"
TIERS = ("standard", "gold", "platinum")
STYLES = ("formal", "friendly", "terse", "grumpy", "chatty", "lowercase", "hasty")
PHONE_BLOCKS = ("3023125", "6990009", "4066969", "2214710", "8999998")
"""Area code and stem of the number blocks that the German regulator keeps free for fiction."""


@dataclass(slots=True)
class Organisation:
    """A customer organisation."""

    number: str
    """ORG-NNN, the same in both systems."""
    zendesk_id: int
    name: str
    domain: str
    sites: tuple[Address, ...]
    weight: float


@dataclass(slots=True)
class Person:
    """A customer (one account, one or two helpdesk users) or an agent (no account, a login)."""

    identity: str
    first: str
    last: str
    email: str
    phone: str
    """E.164."""
    user_id: int
    organisation: Organisation | None = None
    display: str = ""
    """How the helpdesk shows the name: full, with a nickname, with an initial, or last name first."""
    nickname: str = ""
    account: str = ""
    tier: str = "standard"
    billing: Address | None = None
    opened_at: int = 0
    style: str = "formal"
    login: str = ""
    second_email: str = ""
    second_user_id: int = 0
    second_display: str = ""
    cuts: list[int] = field(default_factory=list)
    """When this person's tickets arrived."""
    second_used: bool = False
    """Some ticket came from the second address."""
    kinds: set[str] = field(default_factory=set)
    orders: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def national_phone(self) -> str:
        """As people say it in Germany: 0 instead of +49, a space before the last digits."""
        digits = "0" + self.phone[3:]
        return f"{digits[:-4]} {digits[-4:]}"


def ascii_of(text: str) -> str:
    """Lower-case letters for addresses: ü becomes ue, other marks fall away."""
    for letter, plain in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss"), ("ı", "i"), ("ł", "l"), ("ø", "o")):
        text = text.replace(letter, plain).replace(letter.upper(), plain.title())
    folded = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return "".join(c for c in folded.lower() if c.isalnum())


def make_organisations(rng: Random, count: int = 24) -> list[Organisation]:
    numbers = Ids("", 11, rng)
    found = []
    for index, name in enumerate(ORGANISATIONS[:count]):
        domain = f"{'-'.join(ascii_of(word) for word in name.split()[:2])}.example"
        sites = tuple(draw_address(rng) for _ in range(4))
        found.append(Organisation(f"ORG-{index + 1:03d}", int(numbers.new()), name, domain, sites, rng.uniform(0.75, 1.3)))
    return found


@dataclass(slots=True)
class PeopleMaker:
    """Makes people one after another; numbers and addresses never repeat."""

    rng: Random
    user_ids: Ids = field(init=False)
    account_ids: Ids = field(init=False)
    _emails: set[str] = field(default_factory=set)
    _phones: int = 0
    _made: int = 0
    _by_name: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.user_ids = Ids("", 12, self.rng)
        self.account_ids = Ids("C-", 5, self.rng)

    def _phone(self) -> str:
        block, number = PHONE_BLOCKS[self._phones % 5], self._phones // 5
        self._phones += 1
        tail = f"{number * 389 % 1000:03d}" if number < 1000 else f"{number:05d}"
        return f"+49{block}{tail}"

    def _email(self, local: str, domain: str) -> str:
        address, number = f"{local}@{domain}", 1
        while address in self._emails:
            number += 1
            address = f"{local}{number}@{domain}"
        self._emails.add(address)
        return address

    def agent(self, first: str, last: str) -> Person:
        login = f"{ascii_of(first)[0]}.{ascii_of(last)}"
        self._made += 1
        return Person(
            f"person:a{self._made:05d}", first, last, self._email(login, SUPPLIER_DOMAIN), self._phone(),
            int(self.user_ids.new()),
            display=f"{first} {last}", login=login,
        )  # fmt: skip

    def customer(self, organisation: Organisation) -> Person:
        """A new customer; some bear the very name of somebody in another organisation."""
        rng = self.rng
        first, last = rng.choice(FIRST), rng.choice(LAST)
        if self._by_name and rng.random() < 0.05:
            namesake = rng.choice(self._by_name)
            if namesake[2] != organisation.number:
                first, last = namesake[0], namesake[1]
        self._by_name.append((first, last, organisation.number))
        self._made += 1
        nickname = NICKNAMES.get(first, "")
        shown = rng.random()
        if shown < 0.12 and nickname:
            display = f"{nickname} {last}"
        elif shown < 0.2:
            display = f"{first[0]}. {last}"
        elif shown < 0.28:
            display = f"{last}, {first}"
        else:
            display = f"{first} {last}"
        local = f"{ascii_of(first)}.{ascii_of(last)}" if rng.random() < 0.7 else f"{ascii_of(first)[0]}{ascii_of(last)}"
        person = Person(
            f"person:c{self._made:05d}", first, last, self._email(local, organisation.domain), self._phone(),
            int(self.user_ids.new()),
            organisation, display, nickname, self.account_ids.new(), rng.choices(TIERS, (50, 32, 18))[0], draw_address(rng),
            YEAR_START - rng.randint(420, 1600) * DAY + rng.randint(6, 17) * 3600 + rng.randrange(3600), rng.choice(STYLES),
        )  # fmt: skip
        if rng.random() < 0.16:
            self.second_address(person)
        return person

    def second_address(self, person: Person) -> None:
        """A private address, and the helpdesk user that came with it."""
        rng, first, last, nickname = self.rng, person.first, person.last, person.nickname
        if not person.second_email:
            private = (
                ascii_of(nickname or first)
                + rng.choice((".", "_", ""))
                + ascii_of(last)[: rng.randint(3, 8)]
                + str(rng.randint(2, 99))
            )
            person.second_email = self._email(private, rng.choice(("postfach.example", "mailwind.example", "privatpost.example")))
            person.second_user_id = int(self.user_ids.new())
            person.second_display = rng.choice((f"{nickname or first} {last}", f"{first} {last[0]}.", f"{first} {last}"))
