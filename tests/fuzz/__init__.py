"""Tests of files that are damaged in every way."""
