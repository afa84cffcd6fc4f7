"""What must emerge from the rules and the world: W1 to W16, each on a small scenario."""
