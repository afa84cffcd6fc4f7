"""This machine: Java, Spark and its workers, Airflow's surroundings, who runs what here."""
