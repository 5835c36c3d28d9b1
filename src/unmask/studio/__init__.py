"""The web page: a model in a browser, and its API."""
