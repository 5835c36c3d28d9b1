"""The absorbing mathematics: how codes are masked, what a prediction costs, what is revealed when."""
