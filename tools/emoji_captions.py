"""A caption for each emoji, in plain lower-case words: what it is, skin tone, gender, kind, style.

woman astronaut, medium skin tone, people, style flat
prince, man, people, style 3d
flag ireland, flags, style twemoji
"""

import re
import unicodedata

KINDS = {
    "Smileys & Emotion": "smileys",
    "People & Body": "people",
    "Animals & Nature": "nature",
    "Food & Drink": "food",
    "Travel & Places": "travel",
    "Activities": "activities",
    "Objects": "objects",
    "Symbols": "symbols",
    "Flags": "flags",
}
GENDERED = {"man", "men", "woman", "women", "boy", "girl"}


def caption(base_name: str, category: str, skin_tone: str | None, gender: str | None, style: str) -> str:
    """The caption, its parts joined by commas."""
    what = words(base_name)
    parts = [" ".join(what)]
    if skin_tone:
        parts.append(f"{skin_tone.replace('-', ' ')} skin tone")
    if gender and GENDERED.isdisjoint(what):
        parts.append(gender)
    return ", ".join([*parts, KINDS[category], f"style {style}"])


def words(name: str) -> list[str]:
    """Lower-case words of plain letters and digits: ``Côte d’Ivoire`` is ``cote divoire``."""
    letters = unicodedata.normalize("NFKD", name.lower().replace("&", " and "))
    letters = re.sub("['’.\u0300-\u036f]", "", letters)
    spelt = {"#": "hash", "*": "asterisk"}
    return re.findall("[a-z0-9]+", "".join(spelt.get(letter, letter) for letter in letters))
