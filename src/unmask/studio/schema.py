"""The shapes of what comes in and goes out: the API's description is made of these."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from unmask.diffusion.settings import CanvasConfig, EditConfig, Order, SamplingConfig, Schedule
from unmask.studio.jobs import State
from unmask.studio.limits import MAX_COUNT, MAX_DRAWS, MAX_EDGE_PX, MAX_STEPS, MAX_UPLOAD_BYTES

Picture = Annotated[
    str,
    Field(
        max_length=MAX_UPLOAD_BYTES,
        description="A picture file (PNG, JPEG, WebP, GIF, BMP, TIFF), its bytes in base64.",
        json_schema_extra={"contentEncoding": "base64"},
    ),
]
Seed = Annotated[int, Field(ge=0, le=2**32 - 1, description="The same seed gives the same pictures.")]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Steps = Annotated[int, Field(ge=1, le=MAX_STEPS)]
Temperature = Annotated[
    float, Field(ge=0, le=10, allow_inf_nan=False, description="Below 1 likelier codes, 0 the likeliest.")
]
Remask = Annotated[
    float,
    Field(ge=0, le=1, description="Redraw codes: the probability in a step, of the largest one possible."),
]
Stride = Annotated[int, Field(ge=1, description="Windows so many codes apart: more is faster, less exact.")]
Edge = Annotated[int, Field(ge=1, le=MAX_EDGE_PX)]
Margin = Annotated[int, Field(ge=0, le=MAX_EDGE_PX)]
Pixel = Annotated[int, Field(ge=-MAX_EDGE_PX, le=MAX_EDGE_PX)]


def _constant(temperature: float | tuple[float, float]) -> float:
    """A default as requests have it; temperatures that move are for the command line and for Python."""
    assert isinstance(temperature, float)
    return temperature


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sample(_Request):
    """New pictures."""

    count: Count = 1
    steps: Steps | None = None
    temperature: Temperature = _constant(SamplingConfig.temperature)
    schedule: Schedule = SamplingConfig.schedule
    order: Order = SamplingConfig.order
    remask: Remask = SamplingConfig.remask
    seed: Seed = 0


class Canvas(_Request):
    """A picture larger than those of the training."""

    width: Edge
    height: Edge
    steps: Steps | None = None
    temperature: Temperature = _constant(CanvasConfig.temperature)
    remask: Remask = CanvasConfig.remask
    order: Order = CanvasConfig.order
    stride: Stride = CanvasConfig.stride
    seed: Seed = 0


class Edit(_Request):
    """What there is to say of all edits."""

    image: Picture
    count: Count = EditConfig.count
    steps: Steps | None = None
    temperature: Temperature = _constant(EditConfig.temperature)
    remask: Remask = EditConfig.remask
    rank: bool = Field(
        default=EditConfig.rank, description="The version that the model finds likeliest first."
    )
    stride: Stride = EditConfig.stride
    seed: Seed = 0


class Inpaint(Edit):
    """Versions of a picture, a part of which is drawn anew: what is white in the mask, or a box."""

    mask: Picture | None = None
    box: tuple[Pixel, Pixel, Edge, Edge] | None = Field(
        default=None, description="Left, top, width and height in pixels."
    )


class Extend(Edit):
    """Versions of a picture with so many pixels more on each side."""

    left: Margin = 0
    top: Margin = 0
    right: Margin = 0
    bottom: Margin = 0


class Reconstruct(_Request):
    """A picture through the codec and back."""

    image: Picture


class Score(_Request):
    """How likely a picture is."""

    image: Picture
    draws: Annotated[int, Field(ge=1, le=MAX_DRAWS)] = 16
    seed: Seed = 0


Request = Sample | Canvas | Inpaint | Extend | Reconstruct | Score


class Recipe(BaseModel):
    """The same, said elsewhere."""

    command: str
    python: str


class JobView(BaseModel):
    """A job as it stands."""

    id: str
    kind: str
    state: State
    ahead: int = Field(description="Jobs that come before it.")
    progress: float = Field(description="The share that is done.")
    seconds: float
    error: str | None
    pictures: list[str] = Field(description="Addresses of the results, PNG files.")
    figures: dict[str, Any] | None = Field(
        description="Of reconstruct: psnr_db (null: equal) and codes, row by row. Of score: bits_per_code, "
        "bits, exact (or an upper bound) and surprise, the bits of each code, row by row."
    )
    settings: dict[str, Any] = Field(description="The request, without its pictures.")
    recipe: Recipe


class ModelView(BaseModel):
    """The model, and what may be asked of it."""

    name: str
    fingerprint: str
    version: str
    kind: str = Field(description="absorbing, or autoregressive, which can neither edit nor extend.")
    image_size: int
    factor: int = Field(description="Pixels along the edge of a code.")
    grid: list[int] = Field(description="Rows and columns of codes.")
    codebook_size: int
    parameters: int
    schedules: list[str]
    orders: list[str]
    limits: dict[str, int]
    about: dict[str, Any] = Field(description="Data, licence and figures of the training, where known.")


class Problem(BaseModel):
    """Why a request was refused."""

    error: str
