"""The law of pairs: where two options meet, every door refuses them or gives the same numbers.

A *door* is a function that computes a number: `podium.measure`, `compare`, `gate`, `explain`,
`audit`, the data of a report, and measuring in parts. `cases` draws small tables and pairs of
options, `brute` computes every number by its definition in the documents, `doors` asks podium, and
`law` compares the two. `laws` has the metamorphic laws.

`brute`, `claims`, `reread`, `formulas`, `lists`, `packages`, `refused`, `shown` and `figures` are
written from the documents. They import nothing of podium outside of this package.
"""
