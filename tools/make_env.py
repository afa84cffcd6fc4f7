"""Write ``.env`` for docker-compose.yaml: random secrets, readable by their owner alone.

``make env``; an ``.env`` that is there stays (its password is in the database's volume).
"""

import base64
import os
import secrets
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Write the file once; exit status 1 if it is there."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".env"
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        sys.stderr.write(f"{file} is there already and was left as it is\n")
        return 1
    values = {
        "POSTGRES_PASSWORD": secrets.token_hex(24),
        "AIRFLOW_DB_PASSWORD": secrets.token_hex(24),
        "MLFLOW_DB_PASSWORD": secrets.token_hex(24),
        "AIRFLOW_ADMIN_PASSWORD": secrets.token_hex(12),
        "AIRFLOW_FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "AIRFLOW_API_SECRET": secrets.token_hex(32),
        "AIRFLOW_JWT_SECRET": secrets.token_hex(64),
        "MLFLOW_ADMIN_PASSWORD": secrets.token_hex(12),
        "MLFLOW_SERVER_SECRET": secrets.token_hex(32),
        "SPARK_AUTH_SECRET": secrets.token_hex(32),
    }
    with os.fdopen(descriptor, "w") as out:
        out.writelines(f"{name}={value}\n" for name, value in values.items())
    sys.stdout.write(
        f"{file} written; Airflow's and MLflow's user is admin, both passwords are in that file\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
