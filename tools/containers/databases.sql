-- Run once by PostgreSQL's image on an empty volume: a role and databases for each application,
-- and no way from one to the other. The passwords are read from the server's environment.
\set ON_ERROR_STOP on
\getenv airflow_password AIRFLOW_DB_PASSWORD
\getenv mlflow_password MLFLOW_DB_PASSWORD
CREATE ROLE airflow LOGIN PASSWORD :'airflow_password';
CREATE ROLE mlflow LOGIN PASSWORD :'mlflow_password';
-- In UTF-8 whatever the server was made with: a DAG's description is no ASCII.
CREATE DATABASE airflow OWNER airflow ENCODING 'UTF8' TEMPLATE template0;
CREATE DATABASE mlflow OWNER mlflow ENCODING 'UTF8' TEMPLATE template0;
CREATE DATABASE mlflow_users OWNER mlflow ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE postgres, template1, airflow, mlflow, mlflow_users FROM PUBLIC;
