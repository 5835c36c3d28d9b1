"""What is revealed when: plans, drawn before any network call.

A plan is (B, N) integers: the step at which each position is revealed, counted down from S to 1.
"""

import torch
from torch import Tensor

from unmask.rng import generator


def even_plan(images: range, num_positions: int, num_steps: int, *, seed: int) -> Tensor:
    """The paper's chain with its steps evenly skipped to S: (B, N) steps, each uniform on 1..S.

    Revealing every masked position with probability 1/t at t = S, …, 1 makes a position's step uniform and
    independent of all else, the network included; so it can be drawn beforehand. ``images`` are the numbers
    of the pictures within a request: each has a plan of its own, whatever batch it is in.
    """
    plans = [
        torch.randint(1, num_steps + 1, (num_positions,), generator=generator(seed, "plan", image))
        for image in images
    ]
    return torch.stack(plans)
