"""Models on the Hugging Face hub: from its cache on this machine or, the first time, from the network."""

import re
from importlib.util import find_spec
from pathlib import Path

from unmask.errors import BundleError
from unmask.reading import DamagedError, parsing, read_json
from unmask.storage.bundles import MANIFEST

FILES = [MANIFEST, "*.safetensors"]
PATIENCE_S = 5.0  # for the hub's first answer


def is_name(text: str) -> bool:
    """Whether ``text`` could be the name of a model there, such as ``user/name``."""
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", text) is not None


def snapshot(name: str) -> Path:
    """The folder of the model ``user/name``.

    A cached model is taken as it is: it does not change, and needs no network.
    """
    if find_spec("huggingface_hub") is None:
        message = (
            f"there is no folder {name}; models of the Hugging Face hub want the package huggingface_hub"
        )
        raise BundleError(message, hint="pip install 'unmask[hub]'")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        cached = Path(snapshot_download(name, local_files_only=True, allow_patterns=FILES))
    except HFValidationError:
        raise BundleError(f"there is no folder {name}, and nothing on the hub can have that name") from None
    except LocalEntryNotFoundError:
        return _download(name)
    return cached if _is_complete(cached) else _download(name)


def _is_complete(folder: Path) -> bool:
    """Whether a cached model has all its files: before 1.22, huggingface_hub returns a part of one too."""
    try:
        with parsing():
            parts = read_json(folder / MANIFEST)["parts"]
            return all((folder / f"{name}.safetensors").is_file() for name in parts)
    except (OSError, DamagedError):
        return False


def _download(name: str) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HTTPError, RepositoryNotFoundError  # type: ignore[attr-defined]

    try:
        HfApi().model_info(name, timeout=PATIENCE_S)  # tries once, where a download retries
        return Path(snapshot_download(name, allow_patterns=FILES))
    except RepositoryNotFoundError:
        message = f"there is no folder {name}, and no model of that name that you may see on the hub"
        raise BundleError(message, hint="log in if it is private:  hf auth login") from None
    except (OSError, HTTPError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        message = f"there is no folder {name}, nor is it in the hub's cache, and the hub is out of reach"
        raise BundleError(
            f"{message} ({reason})", hint=f"fetch it where there is a network:  hf download {name}"
        ) from None
