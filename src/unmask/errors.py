"""The one exception family: what a user can fix, said in a sentence.

A message says what was found, what was wanted and, on an indented line of its own, what to type.
Programmers' mistakes are assertions, never these.
"""


class UnmaskError(Exception):
    """A mistake that a user can fix. The command line prints it and exits with 2, without a traceback."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  {hint}")


class ConfigError(UnmaskError):
    """A setting that does not exist, does not fit its type, or contradicts another."""


class DataError(UnmaskError):
    """Images that cannot be found, read or used."""


class RunError(UnmaskError):
    """A run folder that is missing, damaged, or belongs to another configuration."""


class BundleError(UnmaskError):
    """A model on disk that is missing, damaged, or of the wrong kind."""


class WeightsError(UnmaskError):
    """Third-party weights that are missing or do not match their checksum."""


class TrainingError(UnmaskError):
    """A training that cannot continue, for instance because its loss is NaN."""


def require_at_least(least: float, part: str, settings: object, *names: str) -> None:
    """Refuse those of the named settings that are below ``least``, or not a number at all."""
    for name in names:
        value = getattr(settings, name)
        if not value >= least:
            raise ConfigError(f"{part}.{name.replace('_', '-')}={value} must be at least {least}")


def require_share(part: str, settings: object, *names: str) -> None:
    """Refuse those of the named settings that are not from 0 to below 1."""
    for name in names:
        value = getattr(settings, name)
        if not 0 <= value < 1:
            raise ConfigError(f"{part}.{name.replace('_', '-')}={value} is not in [0, 1)")
