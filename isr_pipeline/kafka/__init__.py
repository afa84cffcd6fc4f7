"""Kafka's rules, one idea a module: no clock, no I/O, no import but of `base`."""
