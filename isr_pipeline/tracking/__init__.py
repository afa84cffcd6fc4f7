"""MLflow: runs, metrics, artifacts."""
