"""Fixtures that several rooms' tests share."""

from hypothesis import settings

pytest_plugins = ["tests.approved", "tests.spark_session"]

# A busy machine fails no test: times are measured by benchmarks.
settings.register_profile("isr_pipeline", deadline=None)
settings.load_profile("isr_pipeline")
