"""A first spec for an unseen export: what it holds, and guesses that carry their evidence until a person confirms them."""
