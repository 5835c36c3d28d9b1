"""The shapes of what comes in and goes out: the API's description is made of these."""

from collections.abc import Callable
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from unmask.diffusion.settings import RECOMMENDED, SETTINGS, Setting, Use
from unmask.generation.arguments import LARGEST
from unmask.studio.jobs import State
from unmask.studio.limits import (
    FIELDS,
    MAX_COUNT,
    MAX_DRAWS,
    MAX_EDGE_PX,
    MAX_PROMPT_CHARACTERS,
    MAX_PROMPTS,
    MAX_SEAM_PX,
    MAX_STEPS,
    MAX_UPLOAD_BYTES,
)

Picture = Annotated[
    str,
    Field(
        max_length=MAX_UPLOAD_BYTES,
        description="An image file (PNG, JPEG, WebP, GIF, BMP, TIFF), its bytes in base64.",
        json_schema_extra={"contentEncoding": "base64"},
    ),
]
Name = Annotated[str, Field(max_length=1024, description="One of the names that the server lists.")]
Seed = Annotated[int, Field(ge=-LARGEST, le=LARGEST, description="The same seed gives the same images.")]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Edge = Annotated[int, Field(ge=1, le=MAX_EDGE_PX)]
Margin = Annotated[int, Field(ge=0, le=MAX_EDGE_PX)]
Pixel = Annotated[int, Field(ge=-MAX_EDGE_PX, le=MAX_EDGE_PX)]


Words = Annotated[str, Field(max_length=MAX_PROMPT_CHARACTERS)]
Strength = Annotated[float, Field(gt=0, le=1, description="The share of the codes that is drawn anew.")]
Unlikely = Annotated[
    bool, Field(description="That share of which the model thinks least, instead of a random one.")
]


PROMPT = "What to draw, if the model knows words; null: new images as in training."


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    model: Name | None = Field(default=None, description="One of `models`; unless given, the first.")

    @model_validator(mode="before")
    @classmethod
    def _count(cls, fields: Any) -> Any:
        """Refuse more fields than there are as one mistake, not as one each."""
        if isinstance(fields, dict) and len(fields) > FIELDS:
            raise ValueError(f"{len(fields):,} fields are more than there are")
        return fields


class Drawing(_Request):
    """What there is to say of all that is drawn; a setting that is not given is as the model recommends."""

    use: ClassVar[Use]
    settings: str = Field(default=RECOMMENDED, description="Where to begin: one of the names in `sampling`.")
    seed: Seed = 0
    prompt: Words | Annotated[list[Words], Field(min_length=1, max_length=MAX_PROMPTS)] | None = Field(
        default=None, description=f"{PROMPT} Several stand in a row along the longer side of a canvas."
    )
    negative: Words = Field(default="", description="What guidance leads away from.")

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that were given."""
        return self.model_dump(include=SETTINGS.keys() & self.model_fields_set)


D = TypeVar("D", bound=Drawing)


def _with_settings(use: Use) -> Callable[[type[D]], type[D]]:
    """Give a request every setting that its use has."""

    def add(request: type[D]) -> type[D]:
        settings: dict[str, Any] = {
            setting.name: (_kind(setting), Field(default_factory=lambda: None, description=setting.help))
            for setting in SETTINGS.values()
            if use in setting.uses
        }
        kind = create_model(request.__name__, __base__=request, __doc__=request.__doc__, **settings)
        kind.use = use
        return kind

    return add


def _kind(setting: Setting) -> Any:
    if setting.choices:
        return Literal[tuple(setting.choices)]
    most = MAX_STEPS if setting.name == "steps" else setting.maximum
    number: Any = Annotated[float, Field(ge=setting.minimum, le=most, allow_inf_nan=False)]
    whole: Any = Annotated[int, Field(ge=setting.minimum, le=most)]
    kind = whole if setting.kind == "integer" else number
    pair = GenericAlias(tuple, (kind, kind))
    return kind | pair if setting.pair else kind | None if setting.optional else kind


@_with_settings("sample")
class Sample(Drawing):
    """Draw new images."""

    prompt: Words | None = Field(default=None, description=PROMPT)
    count: Count = 1
    first: Annotated[int, Field(ge=0, le=2**31, description="Number of the first of them.")] = 0


@_with_settings("canvas")
class Canvas(Drawing):
    """Draw an image larger than those of the training."""

    width: Edge
    height: Edge


@_with_settings("edit")
class Edit(Drawing):
    """What there is to say of all edits."""

    prompt: Words | None = Field(default=None, description=PROMPT)
    image: Picture
    count: Count = 4
    rank: bool = Field(default=False, description="The version that the model finds likeliest first.")


class Seamed(Edit):
    """What there is to say of edits of parts."""

    seam: Annotated[int, Field(ge=0, le=MAX_SEAM_PX)] | None = Field(
        default=None, description="Pixels over which new fades into old; unless given, half a code."
    )


class Inpaint(Seamed):
    """Draw a part of an image anew, the white of a mask or a box; other pixels stay, but for a seam."""

    mask: Picture | None = None
    box: tuple[Pixel, Pixel, Edge, Edge] | None = Field(
        default=None, description="Left, top, width and height in pixels."
    )
    strength: Strength = 1.0
    unlikely: Unlikely = False


class Vary(Edit):
    """Draw variations of an image: a share of its codes anew."""

    strength: Strength = 0.3
    unlikely: Unlikely = False


class Extend(Seamed):
    """Draw what could lie beyond the edges of an image: so many pixels more on each side."""

    left: Margin = 0
    top: Margin = 0
    right: Margin = 0
    bottom: Margin = 0


class Reconstruct(_Request):
    """Put the centre of an image through the codec: what went in, what came out, and the codes."""

    image: Picture


class Caption(_Request):
    """Say what the centre of an image shows, of models that were trained on captions."""

    image: Picture
    draws: Annotated[int, Field(ge=1, le=MAX_DRAWS)] = 32
    seed: Seed = 0
    words: Words = Field(default="", description="Words of which to say how likely they are.")


class Score(_Request):
    """Score the centre of an image: bits per code, and those of each single code."""

    image: Picture
    draws: Annotated[int, Field(ge=1, le=MAX_DRAWS)] = 16
    seed: Seed = 0


Request = Sample | Canvas | Inpaint | Vary | Extend | Reconstruct | Caption | Score


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
    model: str
    figures: dict[str, Any] | None = Field(
        description="Of reconstruct: psnr_db (null: equal) and codes, row by row. Of score: bits_per_code, "
        "bits, exact (or an upper bound) and bits_by_code, row by row. Of caption: "
        "captions and words, each with the share of draws that it came up in, the largest first, and said: "
        "the probability of each word that was asked about, given the image and those before it."
    )
    kept: list[str] | None = Field(description="Ids of the results in the gallery, of what draws.")
    unkept: str | None = Field(description="Why the gallery could not take them.")
    settings: dict[str, Any] = Field(description="All that was drawn with: the request without its images.")
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
    settings: list[Setting] = Field(description="What a form may ask for, in this order.")
    sampling: dict[str, dict[Use, dict[str, Any]]] = Field(
        description="Settings by name and use; `recommended` is what a form begins with."
    )
    words: list[str] = Field(description="What a prompt may say; none of a model without captions.")
    caption_length: int = Field(description="Words that a prompt has room for.")
    limits: dict[str, int]
    about: dict[str, Any] = Field(description="Data, licence and metrics of the training, where known.")


class Look(_Request):
    """A file that may say how its image was drawn."""

    image: Picture


class OriginView(BaseModel):
    """How an image was drawn."""

    origin: dict[str, Any] | None = Field(
        description="What its file says: task, model, seed, number, prompt, settings, …; null: nothing."
    )


class KeptView(OriginView):
    """An image of the gallery."""

    id: str
    address: str
    starred: bool


class GalleryView(BaseModel):
    """Some images of the gallery, the newest first."""

    keeping: bool = Field(description="Results are kept; otherwise there is no gallery.")
    pictures: list[KeptView]
    total: int = Field(description="Images in the gallery.")
    more: bool = Field(description="There are older ones that were searched for.")


class Stars(_Request):
    """Whether an image has a star."""

    starred: bool


class Problem(BaseModel):
    """Why a request was refused."""

    error: str


PROBLEMS = {
    404: "There is none, or not any more",
    411: "No Content-Length",
    413: "Too many bytes",
    422: "Not a request that can be fulfilled",
    503: "Busy: the queue is full",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route may refuse a request, for its description."""
    return {status: {"model": Problem, "description": PROBLEMS[status]} for status in statuses}
