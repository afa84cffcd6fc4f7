"""Tell, every morning, what a Kafka replication setting costs and whether it got worse."""
