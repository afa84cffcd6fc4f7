"""The Airflow DAG `isr_baseline_accept`; what it is stands in the package."""

from isr_pipeline.orchestration.baseline_accept import dag

dag.fileloc = __file__  # Airflow runs a task by the file of its folder
