#!/bin/sh
# Restore a back-up that lies in this folder into empty volumes, with the .env of that time.
set -u
docker compose up -d --wait postgres
for name in airflow mlflow mlflow_users; do
  docker compose exec -T postgres pg_restore -U postgres -d "$name" < "$name.dump"
done
docker compose run --rm --no-deps -T airflow-init tar -xz -C /opt/isr < state.tar.gz
docker compose run --rm --no-deps -T mlflow tar -xz -C /opt/isr < artifacts.tar.gz
docker compose up -d
