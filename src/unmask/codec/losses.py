"""The terms of the codec's loss: pure functions of tensors."""

import torch
import torch.nn.functional as F
from torch import Tensor


def discriminator_loss(real: Tensor, fake: Tensor, kind: str) -> Tensor:
    """Patch logits of real and reconstructed pictures to the loss that parts them."""
    if kind == "hinge":
        return (F.relu(1 - real).mean() + F.relu(1 + fake).mean()) / 2
    return F.softplus(-real).mean() + F.softplus(fake).mean()  # −log D(x) − log(1 − D(x̂))


def generator_loss(fake: Tensor, kind: str) -> Tensor:
    """Patch logits of reconstructions to the loss that makes them look real."""
    if kind == "hinge":
        return -fake.mean()
    return -F.softplus(fake).mean()  # log(1 − D(x̂)), the paper's minimax term


def adaptive_weight(grad_rec: Tensor, grad_adv: Tensor, maximum: float) -> Tensor:
    """λ = min(‖∇L_rec‖ / (‖∇L_G‖ + 1e-4), λ_max), gradients at the decoder's last convolution."""
    ratio: Tensor = torch.linalg.vector_norm(grad_rec) / (torch.linalg.vector_norm(grad_adv) + 1e-4)
    return ratio.clamp(max=maximum)


def usage(counts: Tensor) -> dict[str, float]:
    """How often each of K codes was used, as the share used at all and the perplexity.

    counts: (K,) integers.  Perplexity is e to the entropy: K when all codes are equally common.
    """
    counts = counts.cpu()  # not every device has float64
    p = counts.double() / counts.sum().clamp(min=1)
    entropy_nats = -torch.xlogy(p, p).sum()
    return {
        "codes_used": (counts > 0).double().mean().item(),
        "perplexity": entropy_nats.exp().item(),
    }
