#!/bin/sh
# Back up the services of docker-compose.yaml into this folder, while no night runs.
set -u
docker compose stop airflow-scheduler
for name in airflow mlflow mlflow_users; do
  docker compose exec -T postgres pg_dump -U postgres -Fc "$name" > "$name.dump"
done
docker compose exec -T airflow-apiserver tar -cz -C /opt/isr .state airflow > state.tar.gz
docker compose exec -T mlflow tar -cz -C /opt/isr artifacts > artifacts.tar.gz
docker compose start airflow-scheduler
