"""Tables: schemas, storage, metric definitions."""
