"""Mutation check of Kafka's rules: a wrong rule must fail a test.

    python -m tests.mutation              every mutant, one line each; exit status 1 if one survives
    python -m tests.mutation NAME ...     only mutants whose name contains one of these
    python -m tests.mutation --list       their names

Each mutant is one line of `isr_pipeline/kafka/` changed, in a temporary copy of the package; the
tests of the rules and of the timelines run there with the JIT off.
"""
