"""Import of other projects' models: every tensor of theirs is accounted for by name."""
