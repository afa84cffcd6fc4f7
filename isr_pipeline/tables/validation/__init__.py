"""Great Expectations: no verdict from refused data."""
