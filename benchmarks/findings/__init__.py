"""Findings: a question, a panel simulated in this process, ratios with intervals.

`make finding` answers one on the terminal in minutes. It needs no Spark, no Airflow, no baseline.
`python -m benchmarks.findings NAME --write` measures on a large panel and writes what README and
`docs/findings.md` show.
"""
