"""The papers' tables and figures made again, one package a paper, and what all of them share.

A recipe (`recipe`) names a `Study` (`study`); `runner` does its cells and keeps them
(`checkpoint`), `verdict` compares what they say with what was printed, and `page` writes it down.
"""
