-- Run once by PostgreSQL's image on an empty volume: a role and databases for each application,
-- and no way from one to the other. The passwords are read from the server's environment.
\set ON_ERROR_STOP on
\getenv airflow_password AIRFLOW_DB_PASSWORD
\getenv mlflow_password MLFLOW_DB_PASSWORD
CREATE ROLE airflow LOGIN PASSWORD :'airflow_password';
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow_password';
CREATE DATABASE airflow OWNER airflow;
CREATE DATABASE mlflow OWNER mlflow;
CREATE DATABASE mlflow_users OWNER mlflow;
REVOKE ALL ON DATABASE postgres, template1, airflow, mlflow, mlflow_users FROM PUBLIC;
