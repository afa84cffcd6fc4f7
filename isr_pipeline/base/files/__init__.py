"""Files that people write: read strictly, checked, every finding said in one line."""
