"""Tests of clusters that are imported and shown."""
