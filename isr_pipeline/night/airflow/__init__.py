"""What runs inside Airflow: what the DAG files share, tabs of a run's page, a run for one night."""
