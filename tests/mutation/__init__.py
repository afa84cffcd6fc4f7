"""Mutation check: a wrong rule must fail a test.

    python -m tests.mutation              every mutant, one line each; exit status 1 if one survives
    python -m tests.mutation NAME ...     only mutants whose name contains one of these
    python -m tests.mutation --list       their names

A mutant of `isr_pipeline/kafka/` is one line changed as its module is read; the tests of the rules
and of the timelines run so with the JIT off (`rules`). A mutant of `isr_pipeline/simulation/`
names the test of a small world that has to fail (`small_worlds`).
"""
