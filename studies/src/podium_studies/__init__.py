"""Reproductions of the papers' tables and figures, one package per paper, and their shared code.

A recipe (`recipe`) names a `Study` (`study`). `runner` computes its cells and stores them,
`verdict` compares the figures with the printed ones, and `page` writes the report.
"""
