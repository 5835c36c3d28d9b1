from copy import deepcopy

import pytest
import torch
from torch import nn

from unmask.training.config import OptimConfig
from unmask.training.optim import adam, descend, optimizer_of

MUON = OptimConfig(kind="muon", lr=1e-2, weight_decay=0.1)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(5, 4)
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self):
        x = self.tokens(torch.arange(5))
        for block in self.blocks:
            x = block(x).relu()
        return x.square().sum()


@pytest.fixture
def network():
    torch.random.default_generator.manual_seed(0)
    return Network()


def trained(network, optimizer, num_steps):
    for _ in range(num_steps):
        network().backward()
        descend(optimizer, 1e-2, clip=0.0)
    return [parameter.detach().clone() for parameter in network.parameters()]


def copy_of(network):
    other = Network()
    other.load_state_dict(network.state_dict())
    return other


def test_muon_moves_the_hidden_matrices_and_adam_the_rest(network):
    other = copy_of(network)
    trained(network, optimizer_of(network, network.blocks, MUON), 1)
    other().backward()
    hidden = [block.weight for block in other.blocks]
    torch.optim.Muon(hidden, lr=1e-2, weight_decay=0.1, adjust_lr_fn="match_rms_adamw").step()
    adam([other.tokens.weight, *(block.bias for block in other.blocks)], MUON).step()
    for one, expected in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, expected, rtol=0, atol=0)


def test_a_step_of_muon_is_orthogonal_up_to_its_size(network):
    before = network.blocks[0].weight.detach().clone()
    trained(network, optimizer_of(network, network.blocks, OptimConfig(kind="muon", lr=1e-2)), 1)
    moved = torch.linalg.svdvals(before - network.blocks[0].weight.detach())
    assert moved.max() < 2 * moved.min(), "all directions move alike, whatever the gradient's"


def test_a_state_goes_on_where_it_was(network):
    optimizer = optimizer_of(network, network.blocks, MUON)
    trained(network, optimizer, 3)
    other = copy_of(network)
    another = optimizer_of(other, other.blocks, MUON)
    another.load_state_dict(deepcopy(optimizer.state_dict()))
    for one, expected in zip(trained(other, another, 2), trained(network, optimizer, 2), strict=True):
        torch.testing.assert_close(one, expected, rtol=0, atol=0)


def test_the_gradients_of_all_weights_are_clipped_together(network, monkeypatch):
    optimizer, clipped = optimizer_of(network, network.blocks, MUON), []
    network().backward()
    monkeypatch.setattr(
        optimizer, "step", lambda: clipped.extend(weight.grad.clone() for weight in network.parameters())
    )
    descend(optimizer, 1e-2, clip=1e-3)
    assert torch.cat([gradient.flatten() for gradient in clipped]).norm().item() == pytest.approx(
        1e-3, rel=1e-3
    )
