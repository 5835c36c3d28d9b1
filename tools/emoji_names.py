"""Which emoji a picture of another vendor shows, and the words that describe an emoji.

Noto, Twemoji and Fluent come with code points. Firefox OS and EmojiOne come with names of their own: a name
is looked up in the tables below, which were made by looking at the pictures, then among those of Unicode.
What is in none of them is left out: buttons of a user interface, letters, second drawings of one emoji, and
animals that stand for others (Firefox draws its cat faces as foxes).
"""

import json
import re
import unicodedata
from collections.abc import Mapping

import emoji
from emoji_groups import EMOJI_STYLE, SKIN_TONES, plain

TONE_NAMES = dict(zip(SKIN_TONES, ("light", "medium-light", "medium", "medium-dark", "dark"), strict=True))
MEN = set("♂👨👦👴🤴🎅🕺👬🫃")
WOMEN = set("♀👩👧👵👸🤶💃👭🤰🧕")
PEOPLE = "People & Body"

FIREFOX = """
    2hearts 💕, acorn 🌰, americasglobe 🌎, anguish 😧,
    anticlockwiseupwardsanddownwardsarrows 🔄, aok 👌, arrowrightwardsdownwards ⤵,
    arrowrightwardsupwards ⤴, asiaaustraliaglobe 🌏, backwithleftwardsarrow 🔙,
    ballottboxwithballott 🗳, banknotedollar 💵, banknoteeuro 💶, banknotepound 💷,
    banknoteyen 💴, bellcancellation 🔕, blackdownpointingdoublearrow ⏬,
    blackleftpointingarrow ◀, blackleftpointingdoublearrow ⏪, blackquestionmark ❓,
    blackrightpointingarrow ▶, blackrightpointingdoublearrow ⏩, blackskullcrossbones ☠,
    blackuppointingdoublearrow ⏫, blackwaving 🏴, blonde 👱, bolt ⚡, bookmarktab 📑, bow 🎀,
    bowing 🙇, bride 👰, bunny 🐰, bunny-ears 👯, bunnyside 🐇, cat 🐱, catside 🐈,
    cellphone 📱, chartdownwardstrend 📉, chartupwardstrend 📈, chartupwardstrendyen 💹,
    chilipepper 🌶, chineseflag 🇨🇳, cjkunifiedideograph-a 🈯, cjkunifiedideograph-b 🈺,
    cjkunifiedideograph-c 🈲, cjkunifiedideograph-d 🈳, cjkunifiedideograph-e 🈴,
    cjkunifiedideograph-f 🈵, cjkunifiedideograph-g 🈶, cjkunifiedideograph-h 🈷,
    cjkunifiedideograph-i 🈚, cjkunifiedideograph-j 🈸, cjkunifiedideograph-k 🈹,
    clock12oclock 🕛, clock12thirty 🕧, clock1oclock 🕐, clock1thirty 🕜, clock2oclock 🕑,
    clock2thirty 🕝, clock3oclock 🕒, clock3thirty 🕞, clock4oclock 🕓, clock4thirty 🕟,
    clock5thirty 🕠, clock6oclock 🕕, clock6thirty 🕡, clock7oclock 🕖,
    clockwisedownupcircledarrows 🔃, clockwiserightwardsleftwardscirclearrows 🔁,
    clockwiserightwardsleftwardscirclearrowsone 🔂, closedmailboxlowered 📪,
    closedmailboxraised 📫, confetti 🎊, construct 👷, construction 🏗, constructionsign 🚧,
    contact 👤, contact2 👥, controlknob 🎛,
    couple 💑, crying 😢, devilhorns 😈, diamondshapewithdotinside 💠, dissapointedrelief 😥,
    dog 🐶, dogside 🐕, doubleexclaimationmark ‼, down 👇, downpointingsmallredtrisngle 🔽,
    dragonhead 🐲, dragonside 🐉, eightspokedasterix ✳, endwithleftwardsarrow 🔚,
    envelopedownarrowabove 📩, europeafricaglobe 🌍, evergreen 🌲, exclaimationquestionmark ⁉,
    fallingleaf 🍂, fishcakeswirl 🍥, fistedhand 👊, flexbicep 💪, floppydisk2 💾, forkknife 🍽,
    franceflag 🇫🇷, frontfacingchick 🐥, frown 🙍, frownmouth 😦, girlgirl 👭, girlguy 👫,
    gma 👵, gpa 👴, greatbritainflag 🇬🇧, grin 😀, grineyes 😁, grinsquint 😆, grinsweat 😅,
    grintears 😂, grinwide 😃, grinwideeyes 😄, guapimao 👲, guyguy 👬, halo 😇, hampster 🐹,
    handheldvideocamera 📹, hands 👐, handup 🙋, headmassage 💆, heartarrow 💘, heartgreen 💚,
    heartpurple 💜, heartribbon 💝, heartyellow 💛, heavyexclaimationmarksymbol ❗,
    heavylatincross ✝, heavymultiplicationsymbol ✖, heels 👠, high5 🙌,
    highspeedtrainbulletnose 🚅, index ☝, italianflag 🇮🇹, japaneseangrymask 👺, japanflag 🇯🇵,
    kiss 😗, kissclosedeyes 😚, kisseyes 😙, kissing 😘, koreaflag 🇰🇷, leaffluttering 🍃,
    left 👈, leftmagnifyingglass 🔍, leftwritinghand ✍, leopardside 🐆, lockandkey 🔐,
    loudlycrying 😭, lowerleftpen 🖊, makeupbag 👝, manltepiececlock 🕰, mansshirt 👕,
    medicalmask 😷, mensrunner 👟, mensshoe 👞, meridianglobe 🌐, monkeyhear 🙉, monkeysee 🙈,
    monkeyspeak 🙊, mouse 🐭, mouseside 🐁, negativesquaredlatincaptiala 🅰,
    negativesquaredlatincaptialb 🅱, negativesquaredlatincaptialo 🅾, neutral 😐, nogesture 🙅,
    nooneunder18symbol 🔞, notebookdecorativecover 📔, okgesture 🙆, oldpersonalcomputer 💻,
    onarrowleftright 🔛, openmailboxlowered 📭, openmailboxraised 📬, outbox 📤,
    personalcomputer 🖥, perservere 😣, phonerightarrowleft 📲, pig 🐷, pigside 🐖, pigsnout 🐽,
    pinkwallet 👛, poo 💩, potablewatersystem 🚰, pout 🙎, pouting 😡, present 🎁, racecar 🏎,
    raincloud 🌧, raisedhandpartfingers 🖖, raisedhandsfingerssplayed 🖐, reminder 🎗,
    reversehandmiddlefinger 🖕, right 👉, rightmagnifyingglass 🔎, russianflag 🇷🇺,
    saggitarius ♐, sandals 👡, screamfear 😱, silhouetteohjapan 🗾, sixpointedstarwithdot 🔯,
    sleuthspy 🕵, smallfrown 🙁, smallsmile 🙂, smileeyes 😊, smiletongue 😋, snowcloud 🌨,
    snowmountains 🏔, soonwithrightarrow 🔜, spanishflag 🇪🇸, speaker3soundwaves 🔊,
    speakercancellation 🔇, speakeronesoundwave 🔉, speechbubble 💬, spurtingwhale 🐳,
    squaredup 🆙, stormcloud 🌩, studiomic 🎙, sunraincloud 🌦, sunrays ☀, sweatsplash 💦,
    swimming 🏊, tennisball 🎾, thoughtbaloon 💭, tie 👔, tiger 🐯, tigerside 🐅, tired 😫,
    tongueout 😛, tongueoutwink 😜, tongueoutwink2 😝, topwithupwardsarrow 🔝, toykotower 🗼,
    turban 👳, umbrella 🌂, up 👆, uppointingsmallredtrisngle 🔼, videocasette 📼, waitress 💁,
    waningbibbousmoon 🌖, waving 👋, whiteexclaimationmark ❕, whitesunsmallcloud 🌤, winking 😉,
    wiredkeyboard ⌨, womansshirt 👚
"""
# These carry the name of another emoji than they show, or what is drawn is damaged.
FIREFOX_LEFT_OUT = {
    "desktopcomputer",
    "keyboard",
    "lips",
    "tramcar",
    "whitemediumstar",
    "beating-heart",
    "lightrail",
    "window",
}

EMOJIONE = """
    blond-haired-person 👱, bride-with-veil 👰, exclamation-mark ❗, flag-for-black-flag 🏴,
    flag-for-chequered-flag 🏁, flag-for-crossed-flags 🎌, flag-for-macau-sar-china 🇲🇴,
    flag-for-rainbow-flag 🏳‍🌈, flag-for-triangular-flag 🚩, flag-for-white-flag 🏳,
    grinning-cat-face 😺, keycap-pound #⃣, kissing-cat-face 😽, laptop-computer 💻,
    man-in-suit-levitating 🕴, man-with-chinese-cap 👲, question-mark ❓,
    smiling-cat-face-with-heart-eyes 😻, up-text-button 🆙
"""


class Unicode:
    """What Unicode says about emoji: their names and categories."""

    def __init__(self, by_emoji: bytes) -> None:
        table = json.loads(by_emoji)
        self._bases = {plain(text): data for text, data in table.items()}
        self._names = {
            text.replace(EMOJI_STYLE, ""): data["en"].strip(":").replace("_", " ")
            for text, data in emoji.EMOJI_DATA.items()
        }
        self._qualified = {text.replace(EMOJI_STYLE, ""): text for text in _qualified_first()}
        self._spelt = _spellings(table)

    def knows(self, text: str) -> bool:
        """Whether Unicode recommends this emoji for interchange."""
        return text.replace(EMOJI_STYLE, "") in self._names and plain(text) in self._bases

    def qualified(self, text: str) -> str:
        """The emoji with every mark of emoji style that Unicode wants."""
        return self._qualified[text.replace(EMOJI_STYLE, "")]

    def name(self, text: str) -> str:
        """``woman astronaut medium skin tone``."""
        return self._names[text.replace(EMOJI_STYLE, "")]

    def base_name(self, text: str) -> str:
        """The name without a skin tone; of a flag ``flag Ireland``."""
        return str(self._bases[plain(text)]["name"])

    def category(self, text: str) -> str:
        """``Animals & Nature``."""
        return str(self._bases[plain(text)]["group"])

    def find(self, name: str, own: Mapping[str, str]) -> str | None:
        """The emoji of a vendor's name, by the vendor's table or by Unicode's names; None: there is none."""
        base, tone = _without_tone(name)
        text = own.get(base) or self._spelt.get(_letters(base.removeprefix("flag-for-")))
        if text is None or not tone:
            return text
        toned = text[0] + tone + text[1:].removeprefix(EMOJI_STYLE)
        return toned if self.knows(toned) else None


def table_of(lines: str) -> dict[str, str]:
    """A vendor's name -> emoji."""
    pairs = [item.split() for item in lines.replace("\n", " ").split(",")]
    assert len({name for name, _ in pairs}) == len(pairs), "a name stands twice"
    return dict(pairs)


def tone_of(text: str) -> str | None:
    """The skin tone, None where there is none."""
    return next((TONE_NAMES[character] for character in text if character in TONE_NAMES), None)


def num_tones(text: str) -> int:
    """How many different skin tones are shown."""
    return len(set(text) & set(SKIN_TONES))


def gender_of(text: str, category: str) -> str | None:
    """``man`` or ``woman`` where everyone shown is one, else None."""
    man, woman = not MEN.isdisjoint(text), not WOMEN.isdisjoint(text)
    if category != PEOPLE or man == woman:
        return None
    return "man" if man else "woman"


def _qualified_first() -> list[str]:
    """All emoji, so that of several spellings of one the fully qualified comes last."""
    return sorted(emoji.EMOJI_DATA, key=lambda text: -emoji.EMOJI_DATA[text]["status"])


def _spellings(table: dict[str, dict[str, str]]) -> dict[str, str]:
    """Letters and digits of a name -> emoji. Unicode's own short names come before other names."""
    spelt: dict[str, str] = {}
    for text, data in table.items():
        spelt.setdefault(_letters(data["name"].removeprefix("flag ")), text)
    for text in table:
        bare = text.replace(EMOJI_STYLE, "")
        if len(bare) == 1:
            spelt.setdefault(_letters(unicodedata.name(bare, text)), text)
    for text in table:
        for name in emoji.EMOJI_DATA.get(text, {}).get("alias", []):
            spelt.setdefault(_letters(name), text)
    return spelt


def _letters(name: str) -> str:
    plain_letters = unicodedata.normalize("NFKD", name.lower().replace("&", "and"))
    return re.sub("[^a-z0-9]", "", plain_letters)


def _without_tone(name: str) -> tuple[str, str]:
    match = re.fullmatch("(.+?)-(light|medium-light|medium|medium-dark|dark)-skin-tone", name)
    if match is None:
        return name, ""
    (tone,) = (tone for tone, words in TONE_NAMES.items() if words == match[2])
    return match[1], tone
