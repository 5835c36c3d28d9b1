"""Arguments of the Python API, checked where they come in: one of a wrong type is refused in a sentence.

Free of torch. Images are checked where they are opened, settings where they are chosen.
"""

import inspect
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin

from unmask.errors import ConfigError
from unmask.reading import brief

Method = TypeVar("Method", bound=Callable[..., Any])
LARGEST = 2**53 - 1
"""Of whole numbers, seeds above all, and its negative the smallest: JavaScript counts exactly so far."""
HINTS = {
    ("sample", "count"): "how many images comes first, then the prompt:  model.sample(16, 'red hair')",
    ("canvas", "size"): "width and height come first, then the prompt:  model.canvas((256, 64), 'red hair')",
    ("classify", "labels"): "several labels:  model.classify(image, ['red hair', 'black hair'])",
}


def checked(method: Method) -> Method:
    """The method, refusing arguments of other types than its signature names."""
    signature = inspect.signature(method)
    kinds = {name: _kinds(each.annotation) for name, each in signature.parameters.items()}

    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        for name, value in bound.arguments.items():
            hint = HINTS.get((method.__name__, name))
            bound.arguments[name] = _fitted(value, kinds[name], name, hint)
        return method(*bound.args, **bound.kwargs)

    return cast(Method, call)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The types that an annotation allows; none of them if some are not known here."""
    kinds = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
    return kinds if all(kind in CONVERT or get_origin(kind) is Literal for kind in kinds) else ()


def _fitted(value: Any, kinds: tuple[Any, ...], name: str, hint: str | None) -> Any:
    if not kinds:
        return value
    for kind in kinds:
        with suppress(TypeError, ValueError, OverflowError):
            fitted = _converted(value, kind)
            break
    else:
        wanted = " or ".join(_wanted(kind) for kind in kinds)
        raise ConfigError(f"{name} is {brief(value)}, but should be {wanted}", hint=hint)
    if isinstance(fitted, int) and abs(fitted) > LARGEST:
        raise ConfigError(f"{name} {brief(fitted)} is not from {-LARGEST:,} to {LARGEST:,}")
    return fitted


def _converted(value: Any, kind: Any) -> Any:
    if get_origin(kind) is not Literal:
        return CONVERT[kind][1](value)
    if value not in get_args(kind):
        raise ValueError
    return value


def _wanted(kind: Any) -> str:
    return CONVERT[kind][0] if kind in CONVERT else " or ".join(map(repr, get_args(kind)))


def _whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _number(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise TypeError
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        raise TypeError
    return [_text(one) for one in value]


def _size(value: Any) -> tuple[int, int]:
    width, height = value
    return _whole(width), _whole(height)


def _none(value: Any) -> None:
    if value is not None:
        raise TypeError


CONVERT: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    int: ("a whole number", _whole),
    float: ("a number", _number),
    str: ("a text", _text),
    Sequence[str]: ("several texts", _texts),
    tuple[int, int]: ("two whole numbers", _size),
    NoneType: ("None", _none),
}
"""What is wanted, and the conversion of a value to it, which fails for any other."""
