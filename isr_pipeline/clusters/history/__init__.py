"""What happened to a cluster, counted in what it wrote meanwhile."""
