#!/usr/bin/env bash
# MLflow with its own login. The database is made, or brought to the image's version, first; its
# address holds a password and therefore stays out of every command line.
set -euo pipefail
python -c '
import os
from mlflow.db import commands
commands(["upgrade", os.environ["MLFLOW_BACKEND_STORE_URI"]])
'
exec mlflow server --app-name basic-auth --host 0.0.0.0 --port 5000 --workers 1 \
  --artifacts-destination "$MLFLOW_ARTIFACTS" --allowed-hosts "mlflow:5000,127.0.0.1:*,localhost:*"
