"""A prior's graph as a ``Denoiser``, computed by onnxruntime on the CPU."""

from pathlib import Path

import torch
from torch import Tensor

from unmask.diffusion.fill import Denoiser
from unmask.errors import ConfigError
from unmask.onnx.config import Backend
from unmask.onnx.export import OPSET, PRIOR, PRIOR_INT8, export_prior, require_packages, round_prior
from unmask.prior.compiled import Compiled
from unmask.prior.transformer import Transformer, pack
from unmask.reading import read_json
from unmask.storage import files, locks, seals

STAMP = "graphs.json"  # the SHA-256 of each file
RECIPE = 1  # to be raised when the same prior comes to give another graph


class GraphDenoiser:
    """A ``diffusion.fill.Denoiser``: only the positions wanted are computed."""

    def __init__(self, path: Path, mask_id: int) -> None:
        require_packages()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        self.mask_id = mask_id
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def __call__(self, codes: Tensor, where: Tensor) -> Tensor:
        """(B, N) codes with MASK and the (B, N) positions wanted to (where.sum(), K) logits, row-major."""
        places, real = pack(where.cpu())
        inputs = {"codes": codes.cpu().numpy(), "places": places.numpy()}
        (logits,) = self._session.run(["logits"], inputs)  # (B, Q, K)
        return torch.from_numpy(logits)[real].to(codes.device)


def make_denoiser(prior: Transformer, fingerprint: str, backend: Backend) -> Denoiser:
    """The prior on a back-end; a graph of ONNX is made once and kept in the cache folder."""
    if prior.causal:
        raise ConfigError(
            "an autoregressive prior draws code after code, which torch alone does", hint="--backend torch"
        )
    if backend == "compile":
        return Compiled(prior)
    return GraphDenoiser(_cached_graph(prior, fingerprint, backend), prior.mask_id)


def _cached_graph(prior: Transformer, fingerprint: str, backend: Backend) -> Path:
    """The graph's file: made now, unless it was made before and is whole."""
    name = {"onnx": PRIOR, "onnx-int8": PRIOR_INT8}[backend]
    with files.in_cache("a graph") as cache:
        graph = cache / "graphs" / f"{fingerprint}-{backend}-{OPSET}-{RECIPE}" / name
        if not _is_whole(graph):
            with locks.alone(graph.parent):
                if not _is_whole(graph):  # another process was not quicker
                    _make_graph(prior, graph)
    return graph


def _make_graph(prior: Transformer, graph: Path) -> None:
    with files.replace_folder(graph.parent, (PRIOR, PRIOR_INT8, STAMP)) as partial:
        export_prior(prior, partial)
        if graph.name == PRIOR_INT8:
            round_prior(partial)
            (partial / PRIOR).unlink()
        files.write_json(partial / STAMP, {graph.name: seals.digest(partial / graph.name)})


def _is_whole(graph: Path) -> bool:
    try:
        stamp = read_json(graph.with_name(STAMP))
        return bool(stamp == {graph.name: seals.digest(graph)})
    except (OSError, ValueError):
        return False
