"""A night in a pod: Airflow needs nothing of isr-pipeline, only its provider for Kubernetes."""

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sdk import DAG
from kubernetes.client.models import V1EnvFromSource, V1SecretEnvSource

with DAG("isr_night_in_a_pod", schedule="0 2 * * *", catchup=False, max_active_runs=1) as dag:
    KubernetesPodOperator(
        task_id="night",
        image="registry.example/isr-pipeline:0.3.0",
        arguments=["isr-pipeline", "night", "run", "--in-process", "--experiment=operators"]
        + ["--night={{ dag_run.run_after | ds }}"],
        env_vars={
            "ISR_PIPELINE_STORE": "s3://kafka-nights/team",
            "MLFLOW_TRACKING_URI": "http://mlflow.mlflow:5000",
        },
        env_from=[V1EnvFromSource(secret_ref=V1SecretEnvSource(name="isr-store"))],  # AWS_…
        startup_timeout_seconds=900,  # the first pull of the image
    )
