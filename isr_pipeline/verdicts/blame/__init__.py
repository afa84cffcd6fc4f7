"""Why a configuration differs from its baseline, and what is to blame."""
