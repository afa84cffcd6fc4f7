"""Airflow DAGs: thin wiring around the rooms."""
