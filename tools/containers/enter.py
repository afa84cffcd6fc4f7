"""Entry point of every container: secrets become files that only this container can read.

Spark, Airflow's login and MLflow's login read their secrets from files. The files lie in the
container's own memory (``/run/isr-secrets``), never in a volume. Then the service's command is run.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path("/run/isr-secrets")


def main(command: list[str]) -> int:
    """Write the files that the environment asks for, and become the command."""
    if not command:
        sys.stderr.write("enter.py: no command was given; allowed: a program and its arguments\n")
        return 2
    os.umask(0o077)
    folder = Path(os.environ.get("ISR_PIPELINE_SECRETS", FOLDER))
    for name, text in files(os.environ).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the service's own command, no shell
    except OSError as error:
        sys.stderr.write(f"enter.py: {command[0]} cannot be run: {error.strerror}\n")
        return 127


def files(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the files that these variables ask for: path below the folder -> text."""
    found = {}
    if "SPARK_AUTH_SECRET" in environment:
        found["spark/spark-defaults.conf"] = spark_defaults(environment)
    if "AIRFLOW_ADMIN_PASSWORD" in environment:
        found["airflow/passwords.json"] = json.dumps(
            {"admin": environment["AIRFLOW_ADMIN_PASSWORD"]}
        )
    if "MLFLOW_USERS_URI" in environment:
        found["mlflow/auth.ini"] = mlflow_login(environment)
    return found


def spark_defaults(environment: Mapping[str, str]) -> str:
    """Settings of a master, a worker or a driver: whoever lacks the secret is turned away."""
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": environment["SPARK_AUTH_SECRET"],
        "spark.network.crypto.enabled": "true",
    }
    if "SPARK_DRIVER_NAME" in environment:
        # A container in several networks has several addresses: each finds the driver by its name.
        settings["spark.driver.host"] = environment["SPARK_DRIVER_NAME"]
        settings["spark.driver.bindAddress"] = "0.0.0.0"  # noqa: S104 - the containers' networks
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def mlflow_login(environment: Mapping[str, str]) -> str:
    """MLflow's own login; its first user and password come from MLflow's own variables."""
    uri = environment["MLFLOW_USERS_URI"].replace("%", "%%")
    return f"[mlflow]\ndefault_permission = NO_PERMISSIONS\ndatabase_uri = {uri}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
