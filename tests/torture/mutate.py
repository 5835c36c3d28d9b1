"""Bytes that are nearly right."""

import random

NUMBERS = (0, 1, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1)
TOKENS = (
    *(b"null", b"{}", b"[]", b"NaN", b"-1", b"1e999", b"9" * 30, b"-9223372036854775809", b"true"),
    *(b'""', b'"\\u0000"', b"\x1b]0;x\x07", b"\xff\xfe", b"\0", b"[" * 5000, b"'", b"#", b"&a *a", b"\n"),
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """``data`` after one to four changes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        rng.choice(CHANGES)(changed, rng)
    return bytes(changed)


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[_place(data, rng)] ^= 1 << rng.randrange(8)


def _replace(data: bytearray, rng: random.Random) -> None:
    if data:
        place = _place(data, rng)
        data[place : place + rng.choice((1, 1, 4, 16))] = rng.randbytes(rng.choice((1, 1, 4, 16)))


def _number(data: bytearray, rng: random.Random) -> None:
    size = rng.choice((1, 2, 4, 8))
    value = (rng.choice(NUMBERS) % 2 ** (8 * size)).to_bytes(size, rng.choice(("little", "big")))
    place = _place(data, rng)
    data[place : place + size] = value


def _token(data: bytearray, rng: random.Random) -> None:
    place = _place(data, rng)
    data[place : place + rng.choice((0, 1, 3))] = rng.choice(TOKENS)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[_place(data, rng) :]


def _drop(data: bytearray, rng: random.Random) -> None:
    place = _place(data, rng)
    del data[place : place + rng.choice((1, 2, 8, 64, 512))]


def _repeat(data: bytearray, rng: random.Random) -> None:
    place, size = _place(data, rng), rng.choice((1, 8, 64, 512))
    data[place:place] = data[place : place + size] * rng.choice((1, 2, 50))


CHANGES = (_flip, _flip, _replace, _number, _token, _cut, _drop, _repeat)


def _place(data: bytearray, rng: random.Random) -> int:
    """Anywhere, and half of the time near the beginning or the end, where headers are."""
    size = max(len(data), 1)
    near = rng.randrange(min(size, 64))
    return rng.choice((rng.randrange(size), rng.randrange(size), near, size - 1 - near))
