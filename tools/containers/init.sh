#!/usr/bin/env bash
# Before Airflow's services start: its tables, the admin's password, the folders they share.
set -euo pipefail
mkdir -p "$AIRFLOW_HOME/logs" "$ISR_PIPELINE_HOME/mlartifacts"
umask 077
printf '{"admin": "%s"}\n' "$AIRFLOW_ADMIN_PASSWORD" \
  > "$AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
airflow db migrate
