"""``python -m unmask``, which is how torchrun starts it."""

from unmask.cli.main import main

main()
