"""What the supplier sells, where its customers are, and how its systems number things."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd
from random import Random

from schemas.errors import StageError

PRODUCTS: tuple[tuple[str, str], ...] = (
    ("LMP", "desk lamp"), ("CHR", "office chair"), ("DSK", "standing desk"), ("MON", "monitor arm"), ("PRN", "label printer"),
    ("SCN", "document scanner"), ("SHR", "paper shredder"), ("KBD", "wireless keyboard"), ("MSE", "ergonomic mouse"),
    ("HST", "headset"), ("CAM", "conference camera"), ("SPK", "conference speaker"), ("WBD", "whiteboard"), ("PRJ", "projector"),
    ("CAB", "filing cabinet"), ("SHF", "shelf unit"), ("LCK", "key cabinet"), ("FTR", "footrest"), ("MAT", "floor mat"),
    ("SCR", "privacy screen"), ("DOC", "docking station"), ("UPS", "battery backup"), ("RTR", "network switch"), ("CBL",
    "cable box"),
    ("BIN", "recycling bin"), ("CLK", "wall clock"), ("TRL", "hand truck"), ("BOX", "archive box set"), ("LAM", "laminator"),
    ("BND", "binding machine"), ("CLC", "desk calculator"), ("PLT", "plant pot set"), ("FAN", "desk fan"), ("HTR",
    "panel heater"),
    ("COF", "coffee machine"), ("KTL", "water kettle"), ("FRG", "small fridge"), ("TBL", "meeting table"), ("STL",
    "stacking stool"),
    ("COT", "coat stand"),
)  # fmt: skip
VARIANTS: tuple[tuple[str, str], ...] = (
    ("BLK", "black"), ("WHT", "white"), ("GRY", "grey"), ("OAK", "oak"), ("RED", "red"), ("BLU", "blue"), ("GRN", "green"),
    ("SLV", "silver"),
)  # fmt: skip
CARRIERS = ("DHL", "DPD", "GLS", "UPS", "Hermes")

CITIES: tuple[tuple[str, int], ...] = (
    ("Köln", 50667), ("Bonn", 53111), ("Hamburg", 20095), ("Bremen", 28195), ("Hannover", 30159), ("Kassel", 34117),
    ("Leipzig", 4109), ("Dresden", 1067), ("Berlin", 10115), ("Potsdam", 14467), ("Rostock", 18055), ("Kiel", 24103),
    ("Lübeck", 23552), ("Münster", 48143), ("Dortmund", 44135), ("Essen", 45127), ("Düsseldorf", 40213), ("Aachen", 52062),
    ("Mainz", 55116), ("Frankfurt", 60311), ("Würzburg", 97070), ("Nürnberg", 90402), ("Regensburg", 93047), ("München", 80331),
    ("Augsburg", 86150), ("Ulm", 89073), ("Stuttgart", 70173), ("Karlsruhe", 76133), ("Freiburg", 79098), ("Erfurt", 99084),
)  # fmt: skip
STREETS: tuple[str, ...] = (
    "Lindenweg", "Gartenstraße", "Hauptstraße", "Am Mühlbach", "Bahnhofstraße", "Kirchgasse", "Rosenweg", "Schillerstraße",
    "Goethestraße", "Industriestraße", "Ahornallee", "Birkenweg", "Am Stadtpark", "Hafenstraße", "Marktplatz", "Bergstraße",
    "Uferweg", "Kastanienallee", "Lessingstraße", "Gewerbering", "Tulpenweg", "Burgstraße", "Parkallee", "Mozartstraße",
    "Wiesenweg", "Königsallee", "Steinweg", "Neue Gasse", "Feldstraße", "Brunnenstraße", "Eichendorffstraße",
    "Röntgenstraße", "Am Weiher", "Schlossallee", "Dorfstraße", "Seestraße",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Address:
    """A postal address in Germany."""

    street: str
    """Street and house number."""
    postcode: str
    """Five digits."""
    city: str

    @property
    def line(self) -> str:
        """On one line, as people write it."""
        return f"{self.street}, {self.postcode} {self.city}"


def draw_address(rng: Random) -> Address:
    city, first = rng.choice(CITIES)
    number = str(rng.randint(1, 189)) + (rng.choice("abc") if rng.random() < 0.12 else "")
    return Address(f"{rng.choice(STREETS)} {number}", f"{first + rng.randrange(0, 90):05d}", city)


@dataclass(slots=True)
class Ids:
    """Numbers in an order that tells nothing: neither time nor outcome can be read from them."""

    prefix: str
    digits: int
    rng: Random
    _count: int = 0
    _step: int = field(init=False)
    _start: int = field(init=False)
    _size: int = field(init=False)

    def __post_init__(self) -> None:
        self._size = 9 * 10 ** (self.digits - 1)
        self._start = self.rng.randrange(self._size)
        self._step = self.rng.randrange(self._size // 3, self._size)
        while gcd(self._step, self._size) != 1:
            self._step += 1

    def new(self) -> str:
        """The next number; StageError when there are no more of this length."""
        if self._count >= self._size:
            raise StageError(f"no more numbers {self.prefix}{'d' * self.digits}: ask for fewer tickets")
        number = self._size // 9 + (self._start + self._count * self._step) % self._size
        self._count += 1
        return f"{self.prefix}{number}"


def draw_sku(rng: Random, product: int, variant: int) -> str:
    """Article number of a product in a variant, e.g. LMP-2041-BLK."""
    return f"{PRODUCTS[product][0]}-{2000 + product * 40 + rng.randrange(40)}-{VARIANTS[variant][0]}"
