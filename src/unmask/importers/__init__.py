"""Other people's models become ours: every tensor of theirs is accounted for by name."""
