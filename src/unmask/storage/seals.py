"""Checksums: of a file, and of the values in a JSON object, which carries its own."""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

SEAL = "checksum"


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """``content`` with a checksum of its values, which JSON preserves."""
    return content | {SEAL: hashlib.sha256(json.dumps(content).encode()).hexdigest()}


def unsealed(content: dict[str, Any], older: Collection[str]) -> dict[str, Any]:
    """The values in ``content``; ValueError if the checksum differs. Exactly the keys ``older`` need none."""
    values = {key: value for key, value in content.items() if key != SEAL}
    if content != sealed(values) and content.keys() != set(older):
        raise ValueError("it is not as it was written")
    return values


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
