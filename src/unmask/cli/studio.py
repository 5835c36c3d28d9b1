"""``unmask studio``: the model in a browser."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.parse import quote

import tyro

from unmask.cli.arguments import DeviceOption, PrecisionOption
from unmask.errors import ConfigError

HELP = """Start the Studio, a local web page for sampling, editing, extending and inspecting images.

  unmask studio                                   a built-in model, at http://127.0.0.1:8000
  unmask studio runs/prior --port 8080
  unmask studio emoji runs/prior --runs runs      several models to choose from, and trainings to watch
  unmask studio --keep pictures                   keep every result in that folder, and in the gallery
  unmask studio --host 0.0.0.0                    also from other machines, with a token

The page talks only to this machine. A tour: docs/studio.md."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments of the command."""

    models: Annotated[
        tyro.conf.Positional[tuple[str, ...]],
        tyro.conf.arg(
            metavar="[MODEL …]",
            help="Models to choose from: folders or names. The page opens with the first.",
        ),
    ] = ("avatars",)
    runs: Path | None = None
    """Folder of training runs: adds their models to the menu, and a tab that shows their progress."""
    port: int = 8000
    """Port to listen on. 0: any free one."""
    host: str = "127.0.0.1"
    """Address to listen on. On any other than loopback, visitors need the token."""
    token: str | None = None
    """The token. None: on loopback none is needed; otherwise one is generated and printed."""
    keep: Path | None = None
    """Folder that keeps every result. None: kept until the server stops, or not at all beyond loopback."""
    device: DeviceOption = "auto"
    precision: PrecisionOption = "auto"


def main(argv: list[str]) -> None:
    """Serve until interrupted."""
    arguments = tyro.cli(Arguments, args=argv, prog="unmask studio", description=HELP)
    if missing := [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]:
        raise ConfigError(
            f"the Studio needs {' and '.join(missing)}",
            hint="install what it needs:  pip install 'unmask[studio]'",
        )
    with _listen(arguments.host, arguments.port) as door, _keeping(arguments) as keep:
        _serve(arguments, door, keep)


@contextmanager
def _keeping(arguments: Arguments) -> Iterator[Path | None]:
    """The folder of results: as given, or else until the end of the session; none where others see them."""
    from unmask.studio.guard import is_loopback

    if arguments.keep or not is_loopback(arguments.host):
        yield arguments.keep
    else:
        with TemporaryDirectory(prefix="unmask-studio-") as folder:
            yield Path(folder)


def _listen(host: str, port: int) -> socket.socket:
    """A socket at the address, opened before anything is loaded: if it is taken, one hears of it at once."""
    if not 0 <= port <= 65535:
        raise ConfigError(
            f"port {port} is none; ports are numbers up to 65535", hint="try another:  --port 0"
        )
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except UnicodeError as error:
        raise ConfigError(f"{host!r} is no name of a host", hint="leave it out:  unmask studio") from error
    except OSError as error:
        raise ConfigError(
            f"the Studio cannot listen at {host}, port {port}: {error.strerror}",
            hint="try another:  --port 0",
        ) from error


def _serve(arguments: Arguments, door: socket.socket, keep: Path | None) -> None:
    from rich.console import Console

    from unmask.pipeline import load
    from unmask.studio.guard import Access
    from unmask.studio.models import Others
    from unmask.studio.server import Server, create_app
    from unmask.studio.tasks import warm_up

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with console.status("opening the model"):
        access = Access.at(arguments.host, arguments.token)
        first, *names = arguments.models
        _check(names, arguments.runs)
        device, precision = arguments.device, arguments.precision
        model = load(first, device, precision=precision)
        others = Others(names=tuple(names), runs=arguments.runs, device=device, precision=precision)
        app = create_app(model, first, others=others, access=access, keep=keep)
        warm_up(model)
    print(f"Unmask Studio: {address(arguments.host, door.getsockname()[1], access.token)}", flush=True)
    console.print("stop it with Ctrl-C")
    Server(app).run(sockets=[door])


def _check(names: list[str], runs: Path | None) -> None:
    """Refuse what is not there now, not when somebody chooses it."""
    from unmask.models import is_model, locate

    for name in names:
        if not is_model(str(locate(name))):
            raise ConfigError(f"there is no model at {name}", hint="unmask studio emoji runs/prior")
    if runs is not None and not runs.is_dir():
        raise ConfigError(f"there is no folder of runs at {runs}", hint="unmask studio --runs runs")


def address(host: str, port: int, token: str | None) -> str:
    """What to type into a browser."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={quote(token)}" if token else "")
