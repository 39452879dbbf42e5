"""A record of the studies' results, to check that a change of the code changes no result.

`python -m studies.tests.record`, run beside the folder `studies`, computes all parts and prints
the differences from the text files in this folder; `--write` replaces these files. Only the module
`names` imports podium_studies.
"""
