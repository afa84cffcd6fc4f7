-- Run once by PostgreSQL's image on an empty volume, which has made the database airflow already.
CREATE DATABASE mlflow OWNER airflow;
