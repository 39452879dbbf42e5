"""The audit of an offline evaluation: checks of its tables, and the effect of each fault.

The tables are read into common codes (`reading`, `tables`), ids in two spellings are joined
(`vocabulary`), and each check returns a Finding or None. `Pricing` measures lists with and without
a fault. A new check is one function in the CHECKS of its module.
"""
