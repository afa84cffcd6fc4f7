"""The Airflow DAG `isr_nightly`; what it is stands in the package."""

from isr_pipeline.orchestration.nightly import dag

dag.fileloc = __file__  # Airflow runs a task by the file of its folder
