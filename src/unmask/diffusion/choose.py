"""The settings of a call: changes over a model's own, over those of a name, or over some given."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from unmask.config import merge
from unmask.diffusion.settings import BUDGETS, PAPER, RECOMMENDED, SETTINGS, Settings, Use
from unmask.errors import ConfigError

PAPERS_OWN: dict[Use, dict[str, Any]] = {"sample": {}, "canvas": {"temperature": 0.8}, "edit": {}}


def choose(
    use: Use,
    sampling: Mapping[str, Mapping[str, Any]],
    base: Settings | str | None,
    changes: Mapping[str, Any],
) -> Settings:
    """The settings of a call: ``changes`` over some given, or over those of a name.

    ``sampling`` are a model's own by name and use; without a name they are those it recommends. A model
    that recommends none is sampled as in the paper. Where some were tuned for numbers of steps, a change of
    the steps brings those that are nearest. Canvases and edits are drawn with balanced care, unless these or
    the paper's own say otherwise.
    """
    if not isinstance(base, Settings):
        sets: Mapping[str, Mapping[Any, Any]] = {RECOMMENDED: PAPERS_OWN, **sampling, PAPER: PAPERS_OWN}
        if not isinstance(name := base or RECOMMENDED, str) or name not in sets:
            raise ConfigError(f"the model has no settings {name!r}", hint=f"it has {', '.join(sets)}")
        care = {} if name == PAPER or use == "sample" else {"care": "balanced"}
        tuned = _nearest(sets[name].get(BUDGETS, []), changes.get("steps")) if use == "sample" else None
        base = merge(Settings(), care | _compatible(changes, tuned or sets[name].get(use, {})))
    return merge(base, changes)


def _compatible(changes: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A model's own settings, without those that the changes rule out."""
    unless = {name: SETTINGS[name].unless or () for name in own if name in SETTINGS}
    return {name: own[name] for name in own if unless.get(name) not in [*changes.items()]}


def _nearest(budgets: Sequence[Mapping[str, Any]], steps: Any) -> Mapping[str, Any] | None:
    """The settings tuned for the nearest number of steps, by ratio."""
    if not budgets or not isinstance(steps, int) or steps < 1:
        return None
    return min(budgets, key=lambda each: abs(math.log(each["steps"] / steps)))


def combinations(
    use: Use,
    sampling: Mapping[str, Mapping[str, Any]],
    base: Settings | str | None,
    sweep: Mapping[str, Any],
) -> list[Settings]:
    """The settings of a sweep, chosen as above: of a list each value, with every value of the others."""
    lists = [values if isinstance(values, list) else [values] for values in sweep.values()]
    return [choose(use, sampling, base, dict(zip(sweep, one, strict=True))) for one in product(*lists)]
