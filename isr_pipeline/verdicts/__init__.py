"""Which configuration got worse, and how sure that is."""
