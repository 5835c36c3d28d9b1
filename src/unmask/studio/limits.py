"""Limits on what a Studio accepts and keeps."""

from dataclasses import dataclass

MAX_COUNT = 16
"""Pictures of one request."""
MAX_STEPS = 1024
MAX_EDGE_PX = 4096
MAX_SEAM_PX = 64
"""Pixels over which an edit may fade into its picture."""
MAX_PROMPT_CHARACTERS = 1000
MAX_PROMPTS = 16
"""Along a canvas."""
MAX_DRAWS = 64
"""Masks by which one picture is scored, and captions that are drawn for it."""
MAX_UPLOAD_PIXELS = 2**22
"""Of a picture that comes in, and of one that is drawn: what a job has drawn, the next can go on with."""
MAX_UPLOAD_BYTES = 6 * MAX_UPLOAD_PIXELS
"""Of a request: noise as a PNG file in base64 has 4 bytes a pixel, a mask and the settings far fewer."""
FIELDS = 64
"""Of a request; there are fewer than that."""
UPLOADS_BYTES = 2 * MAX_UPLOAD_BYTES
"""Of all requests that are being read or answered, whoever sends them."""
UPLOAD_SECONDS = 60.0
"""For so long a request may be on its way."""
DECODED_PIXELS = 2 * MAX_UPLOAD_PIXELS
"""Of all pictures that are being decoded; others wait."""
MAX_GALLERY_BYTES = 2**30
"""Of the pictures that are kept; once there are so many, no more are until some are deleted."""
MAX_GALLERY_PICTURES = 20_000
MAX_GALLERY_PAGE = 120
"""Pictures of the gallery in one answer."""
MAX_CODES = 16_384
"""Codes that one job looks at, all its pictures together: 64 pictures of 16×16 codes, or one of 128×128."""


@dataclass(frozen=True, kw_only=True)
class DoorLimits:
    """How many connections there may be, and how long they may wait to be admitted.

    Those wait that have not sent a request yet that may be answered. Of too many, one of the address at which
    most wait is ended, so that whoever comes now, and knows the token, gets in.
    """

    inside: int = 320
    """Connections whose requests are being answered; more get the answer that the Studio is busy."""
    waiting: int = 600
    """With those inside, fewer than the 1,024 files that a process may usually have open."""
    seconds: float = 10.0
    moment_seconds: float = 1.0
    """After this time one that said nothing goes first: until then, its request may be on the way."""


@dataclass(frozen=True, kw_only=True)
class JobLimits:
    """How many jobs there are at a time, and for how long."""

    waiting: int = 8
    """Jobs in the queue, besides the one that runs."""
    kept: int = 64
    """Finished jobs whose results are kept; the oldest go first, but none before its owner could come."""
    fresh_seconds: float = 10
    """For so long its owner may be on the way."""
    keep_seconds: float = 900
    """After this time results go anyway."""
    run_seconds: float = 300
    """A job that takes longer is stopped."""
    unwatched_seconds: float = 30
    """A job that nobody asks about for so long is stopped: its tab was closed."""
    preview_share: float = 0.25
    """Share of a job's time that previews may take."""
