"""Tests of tables, metrics and summaries."""
