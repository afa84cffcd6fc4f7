"""Measurements of this project against bars and rivals; results in ``benchmarks/results``."""
