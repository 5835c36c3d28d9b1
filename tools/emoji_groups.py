"""Which emoji are one drawing, told by their code points.

A group falls into one split as a whole. Otherwise a validation picture would have its near twin, the same
drawing in another skin or with another shirt, among the training pictures, and validation would lie.
"""

import re

SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
EMOJI_STYLE = "\ufe0f"

# One drawing with another gender, hair or age ...
PERSON = str.maketrans("👨👩👴👵🧓👱🧔👦👧", "🧑🧑🧑🧑🧑🧑🧑🧒🧒")
GENDER_OR_HAIR = re.compile("\u200d[♂♀🦰🦱🦲🦳]")
FAMILY = re.compile("[🧑🧒](\u200d[🧑🧒])+")
KEYCAP = "\u20e3"

# ... in another colour, size or direction, or with a small part changed; one group a line.
ALIKE = """
    🫅 🤴 👸
    🧑‍🎄 🎅 🤶
    🫄 🤰 🫃
    💃 🕺
    🤵 🧑‍💼 🧑‍✈
    🧑‍🤝‍🧑 👫 👬 👭
    💑 🧑‍❤‍🧑
    💏 🧑‍❤‍💋‍🧑
    👈 👉 👆 👇
    🤛 🤜
    🫱 🫲
    🫷 🫸
    ✋ 🤚
    👂 🦻
    💪 🦾
    🛀 🛁
    😐 😛 🤫 🙂 🙃 😕 🫤 😶 ☹ 🙁 😗
    😯 😮 😲 😦 😧
    😀 😃
    😄 😆
    😊 ☺
    😙 😚
    😠 😡
    😈 👿
    🥹 🥺
    🐱 😸 😹 😻 😼 😽 🙀 😿 😾
    🐵 🙈 🙉 🙊
    🐈 🐈‍⬛
    🐂 🐃
    🐏 🐑
    🪹 🪺
    🌲 🎄
    🍎 🍏
    🌑 🌒 🌓 🌔 🌕 🌖 🌗 🌘 🌚 🌛 🌜 🌝
    🌍 🌎 🌏
    ☀ 🌞
    🏙 🌃 🌆 🌇
    🏣 🏤
    ☃ ⛄
    ☂ ☔
    ⛱ 🏖
    💧 🩸
    🕛 🕧 🕐 🕜 🕑 🕝 🕒 🕞 🕓 🕟 🕔 🕠 🕕 🕡 🕖 🕢 🕗 🕣 🕘 🕤 🕙 🕥 🕚 🕦
    ⌛ ⏳
    ❤ 🧡 💛 💚 🩵 💙 💜 🤎 🖤 🩶 🤍 🩷 ♥
    💕 💞
    🔴 🟠 🟡 🟢 🔵 🟣 🟤 ⚫ ⚪
    🟥 🟧 🟨 🟩 🟦 🟪 🟫 ⬛ ⬜ ◼ ◻ ◾ ◽ ▪ ▫
    🔶 🔷 🔸 🔹
    🔺 🔻
    🔲 🔳
    🔯 ✡
    ✝ ☦
    ✅ ☑
    ❓ ❔ ❗ ❕
    ➡ ⬅ ⬆ ⬇ ↗ ↘ ↙ ↖ ↔ ↕
    ↩ ↪ ⤴ ⤵
    ▶ ◀ ⏩ ⏪ ⏫ ⏬ ⏭ ⏮ ⏯ 🔼 🔽
    🔁 🔂
    🔃 🔄
    🔠 🔡
    📕 📗 📘 📙
    📓 📔
    📅 📆 🗓
    📥 📤
    📪 📫 📬 📭
    📷 📸
    💿 📀
    💴 💵 💶 💷
    💬 💭 🗨 🗯
    🔇 🔈 🔉 🔊
    🔋 🪫
    🔍 🔎
    🔔 🔕
    🔒 🔓 🔏 🔐
    🥇 🥈 🥉
    ⚾ 🥎
"""
# Flags of one layout, by country code: British ensigns, upright and level stripes, two halves, the
# pan-Arab triangle, Nordic crosses.
FLAGS_ALIKE = """
    AC AI AU BM CK FJ FK GS KY MS NU NZ PN SH TA TC TV VG
    FR AD BE CI CM GN GT IC IE IT MD ML MX NG PE RO SN
    NL AM AR AT BG BO DE EE EG GA GH HN HR HU IN IQ LT LU NE NI PY RS RU SI SK SL SV SY YE
    CO EC VE
    ID MC PL SG UA
    PS AE EH JO KW SD
    DK AX FI FO IS NO SE
    CR TH
"""


def plain(text: str) -> str:
    """An emoji without skin tones and style marks."""
    return "".join(character for character in text if character not in SKIN_TONES + EMOJI_STYLE)


def group_of(text: str) -> str:
    """The emoji that stands for the group of ``text``."""
    stem = GENDER_OR_HAIR.sub("", plain(text).translate(PERSON))
    if FAMILY.fullmatch(stem):
        return "👪"
    if stem.endswith(KEYCAP):
        return KEYCAP
    return _FIRST_OF_LINE.get(stem, stem)


def _flag(country: str) -> str:
    return "".join(chr(ord("🇦") + ord(letter) - ord("A")) for letter in country)


def _first_of_line() -> dict[str, str]:
    lines = [line.split() for line in ALIKE.strip().splitlines()]
    lines += [[_flag(country) for country in line.split()] for line in FLAGS_ALIKE.strip().splitlines()]
    members = [member for line in lines for member in line]
    assert len(members) == len(set(members)), "an emoji stands on two lines"
    return {member: line[0] for line in lines for member in line}


_FIRST_OF_LINE = _first_of_line()
