"""Figures and the HTML report of a night."""
