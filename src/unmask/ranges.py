"""Settings that must not be too small."""

from unmask.errors import ConfigError


def require_at_least(least: float, part: str, settings: object, *names: str) -> None:
    """Refuse those of the named settings that are below ``least``, or not a number at all."""
    for name in names:
        value = getattr(settings, name)
        if not value >= least:
            raise ConfigError(f"{part}.{name.replace('_', '-')}={value} must be at least {least}")
