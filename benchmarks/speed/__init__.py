"""How fast the simulator is, beside what it could be and beside other ways: ``make bench``."""
