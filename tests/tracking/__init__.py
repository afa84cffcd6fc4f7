"""Tests of MLflow tracking."""
