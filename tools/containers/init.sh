#!/usr/bin/env bash
# Before Airflow's services start: their database is made, or brought to the image's version.
set -euo pipefail
mkdir -p "$AIRFLOW_HOME/logs"
airflow db migrate
