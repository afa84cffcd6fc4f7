"""What every floor stands on: errors, the home, files, storage, versions, progress."""
