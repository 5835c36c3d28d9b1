"""The command line: one file a command. ``main.py`` lists them; each is arguments plus one call."""
