"""Routes of the gallery, and of files that say how their images were drawn."""

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Response
from starlette.exceptions import HTTPException

from unmask.config import to_json
from unmask.data.provenance import Provenance, read
from unmask.studio.gallery import ID, Gallery, Kept
from unmask.studio.limits import MAX_GALLERY_PAGE
from unmask.studio.pictures import decoded
from unmask.studio.schema import GalleryView, KeptView, Look, OriginView, Stars, refusals

GONE = "there is no such image in the gallery"
Name = Annotated[str, Path(pattern=f"^{ID.pattern}$")]


def gallery_api(gallery: Gallery | None) -> APIRouter:
    """The routes; without a gallery there is nothing to be found."""
    routes = APIRouter()

    @routes.post("/origin", responses=refusals(411, 413, 422))
    def look(request: Look) -> OriginView:
        """How the image of a PNG file was drawn, if the file says so. Its pixels are not looked at."""
        return OriginView(origin=_plain(read(decoded(request.image))))

    @routes.get("/gallery", responses=refusals(422))
    def search(
        words: Annotated[str, Query(max_length=200, description="All of these are to be found.")] = "",
        starred: bool = False,
        before: Annotated[str | None, Query(pattern=f"^{ID.pattern}$")] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_GALLERY_PAGE)] = 60,
    ) -> GalleryView:
        """Images of the gallery, the newest first; `before` one of them, for those after it."""
        if gallery is None:
            return GalleryView(keeping=False, pictures=[], total=0, more=False)
        some = list(islice(gallery.search(words, starred=starred, before=before), limit + 1))
        pictures = [_view(kept) for kept in some[:limit]]
        return GalleryView(keeping=True, pictures=pictures, total=len(gallery), more=len(some) > limit)

    _add_images(routes, gallery)
    return routes


def _add_images(routes: APIRouter, gallery: Gallery | None) -> None:
    def there() -> Gallery:
        if gallery is None:
            raise HTTPException(404, "this Studio keeps nothing:  unmask studio --keep FOLDER")
        return gallery

    There = Annotated[Gallery, Depends(there)]

    def find(kept_id: Name, gallery: There) -> Kept:
        if (kept := gallery.find(kept_id)) is None:
            raise HTTPException(404, GONE)
        return kept

    Found = Annotated[Kept, Depends(find)]

    @routes.get("/gallery/{kept_id}", responses=refusals(404, 422), response_class=Response)
    def picture(gallery: There, kept: Found) -> Response:
        """An image of the gallery, as a PNG file."""
        try:
            data = gallery.path(kept).read_bytes()
        except FileNotFoundError:  # its folder is its owner's
            raise HTTPException(404, GONE) from None
        headers = {"Cache-Control": "private, max-age=86400, immutable"}
        return Response(data, media_type="image/png", headers=headers)

    @routes.put("/gallery/{kept_id}", responses=refusals(404, 411, 413, 422))
    def star(gallery: There, kept: Found, request: Stars) -> KeptView:
        """Give an image a star, or take it."""
        return _view(gallery.star(kept, request.starred))

    @routes.delete("/gallery/{kept_id}", responses=refusals(404, 422))
    def delete(gallery: There, kept: Found) -> KeptView:
        """Delete an image and its file."""
        gallery.remove(kept)
        return _view(kept)


def _view(kept: Kept) -> KeptView:
    address = f"/api/v1/gallery/{kept.id}"
    return KeptView(id=kept.id, address=address, starred=kept.starred, origin=_plain(kept.origin))


def _plain(origin: Provenance | None) -> dict[str, Any] | None:
    return to_json(origin) if origin else None
