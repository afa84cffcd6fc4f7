"""Tables of a night: made from pairs, put together, summed up, read and digested."""
