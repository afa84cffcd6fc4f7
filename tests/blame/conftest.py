"""Fixtures shared with the tests of verdicts."""

from tests.verdicts.synthetic import home

__all__ = ["home"]
