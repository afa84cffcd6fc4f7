"""What runs inside Airflow: what the DAG files share, its plugin, the program of one run."""
