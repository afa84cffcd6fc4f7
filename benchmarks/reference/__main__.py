"""``python -m benchmarks.reference``: draw the reference panel anew and keep it."""

from __future__ import annotations

from benchmarks import reference

if __name__ == "__main__":
    print(f"{reference.PANEL.name}: {reference.write(reference.draw())}")
