"""Tables of items: one row per item, with its categories or features."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from podium import _check
from podium.data.columns import ITEM, column_list
from podium.data.convert import Ids, holds_numbers, one_chunk
from podium.data.ids import share
from podium.data.join import refuse_repeated
from podium.data.lists import Listed
from podium.data.source import POLARS
from podium.data.tables import RoleColumns, open_table
from podium.errors import DataError, arg

SEPARATOR = "|"
"""The text between several categories of an item."""

TITLES = ("title", "name", "description")
"""The usual names of a column of titles."""


@dataclass(frozen=True, eq=False)
class ItemTable:
    """A table of items.

    Attributes
    ----------
    name : str
        The name of the table in messages.
    item : (n_items,)
        int64 array, or Polars String Series, without duplicates.
    columns : dict of str to Series (n_items,)
        All other columns, by name.
    """

    name: str
    item: Ids
    columns: dict[str, pl.Series]

    def positions(self, listed: Listed, whole_run: Listed) -> NDArray[np.int64]:
        """Return the row of each listed item, -1 if the table lacks it.

        Parameters
        ----------
        listed : Listed
        whole_run : Listed
            All items of the same run as it was read.

        Raises
        ------
        DataError
            If the table has none of the items of the run as it was read.
        """
        whole_run.check_items(self, str(arg.items()), self.name, least=0.0)
        return share(self.item, listed.item).left_rows()

    def categories(self, column: str = "") -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Return the categories of each item, or None if the columns are features.

        Parameters
        ----------
        column : str
            The column of categories, with "|" between several categories of an item. Default: the
            only column besides the items and their titles.

        Returns
        -------
        offsets int64 (n_items + 1,), codes int64 (n_categories,)
            Item i has the categories ``codes[offsets[i]:offsets[i + 1]]``, increasing.

        Raises
        ------
        DataError
            If the column does not exist or holds decimal numbers, or the table has several columns
            besides the items and titles, and some of them are not numbers.

        Examples
        --------
        >>> table = read_items({"item": [1, 2], "genres": ["drama|war", "war"]})
        >>> table.categories()
        (array([0, 2, 3]), array([0, 1, 1]))
        """
        chosen = column or self._only_column()
        if chosen is None:
            return None
        if chosen not in self.columns:
            names = list(self.columns)
            raise DataError(
                f"{self.name} has no column {chosen!r} besides the items: {column_list(names)}."
                f"{_check.nearest(chosen, names)}"
            )
        series = self.columns[chosen]
        if series.dtype.is_float():
            raise DataError(
                f"{self.name}: {chosen} holds decimal numbers, but categories must be text or "
                "integers. Name a column of categories, such as diversity(column=genre)@10, or "
                "give at least two columns of features and none of text."
            )
        return _codes(series)

    def titles(self) -> pl.Series | None:
        """Return the column of titles, (n_items,), or None if no column has a usual name."""
        by_name = {name.lower(): series for name, series in reversed(self.columns.items())}
        return next((by_name[name] for name in TITLES if name in by_name), None)

    def features(self) -> NDArray[np.float64]:
        """Return the columns besides items and titles, (n_items, n_columns); nan if missing."""
        columns = self._without_titles().values()
        return np.stack([one_chunk(series.cast(pl.Float64)) for series in columns], axis=1)

    def _without_titles(self) -> dict[str, pl.Series]:
        """Return the columns without titles, which are not categories: each item has its own."""
        return {n: series for n, series in self.columns.items() if n.lower() not in TITLES}

    def _only_column(self) -> str | None:
        """Return the only column, None if all of several are numbers, or raise."""
        columns = self._without_titles()
        if len(columns) == 1:
            return next(iter(columns))
        if not columns:
            titles = " and their titles" if self.columns else ""
            raise DataError(
                f"{self.name} has no column besides the items{titles}. Add a column of categories, "
                "or columns of features."
            )
        others = [name for name, series in columns.items() if not holds_numbers(series)]
        if not others:
            return None
        raise DataError(
            f"{self.name} has {len(columns)} columns besides the items, and "
            f"{' and '.join(map(repr, others[:3]))} {'is' if len(others) == 1 else 'are'} not of "
            f"numbers. Name the column of categories, such as diversity(column={others[0]})@10, or "
            "leave only columns of features."
        )


def read_items(source: Any, *, item: str | None = None) -> ItemTable:
    """Read a table with one row per item.

    Parameters
    ----------
    source : path, frame or mapping of columns
        The table, see `podium.data`.
    item : str, optional
        The name of the item column, if it is not a usual one.

    Raises
    ------
    DataError
        If a file is missing or malformed, there is no item column, or an item has two rows.

    Examples
    --------
    >>> list(read_items({"item": [1, 2], "genre": ["drama", "war"]}).columns)
    ['genre']
    """
    table = open_table(source, "items table", (ITEM,), {"item": item})
    names = table.resolve((ITEM,))
    others = [name for name in table.names if name != names["item"]]
    read = table.fetch({names["item"]: "id", **dict.fromkeys(others, "any")})
    columns = RoleColumns(table, names, {"item": read[names["item"]]})
    ids = columns.ids("item")
    if not len(ids):
        raise DataError(f"{table.name} has no rows. Pass a table with rows.")
    refuse_repeated(share(ids, ids[:0]), "item", table.name)
    features = {name: pl.Series(read[name]) for name in others}
    return ItemTable(table.name, ids, features)


def item_titles(source: Any, items: Container[str], *, item: str | None = None) -> dict[str, str]:
    """Return the titles of some items, by id as text.

    Parameters
    ----------
    source : mapping of item to title, or path, frame or mapping of columns
        The titles, or a table of items with a column title, name or description.
    items : container of str
        The ids of the items as text. The others are left out.
    item : str, optional
        The name of the item column, if it is not a usual one. A table without such a column is
        read by the usual names.

    Raises
    ------
    DataError
        If `read_items` raises, or the table has no column of titles.

    Examples
    --------
    >>> item_titles({7: "Heat", 8: "Alien"}, {"7"})
    {'7': 'Heat'}
    >>> item_titles({"item": [7, 8], "title": ["Heat", "Alien"]}, {"7"})
    {'7': 'Heat'}
    """
    if isinstance(source, Mapping):
        of_item = cast("Mapping[Any, Any]", source)
        if all(isinstance(title, str) for title in of_item.values()):
            return {str(i): title for i, title in of_item.items() if str(i) in items}
    opened = open_table(source, "items table", (ITEM,))
    table = read_items(opened, item=item if item in opened.names else None)
    titles = table.titles()
    if titles is None:
        raise DataError(
            f"{table.name} has no column of titles ({', '.join(TITLES)}): "
            f"{column_list(list(table.columns))}. Rename the column of titles to title."
        )
    texts = titles.cast(pl.String).to_list()
    ids: list[Any] = (
        table.item.to_list() if isinstance(table.item, pl.Series) else table.item.tolist()
    )
    pairs = ((str(i), text) for i, text in zip(ids, texts, strict=True) if text)
    return {i: text for i, text in pairs if i in items}


def _codes(series: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct categories of each row as codes, increasing."""
    POLARS.enter()
    if isinstance(series.dtype, pl.List):
        lists = series.cast(pl.List(pl.String))
    else:
        lists = series.cast(pl.String).str.split(SEPARATOR)
    pairs = (
        pl.DataFrame({"row": np.arange(len(series)), "category": lists})
        .explode("category")
        .with_columns(pl.col("category").str.strip_chars())
        .filter(pl.col("category").is_not_null() & (pl.col("category") != ""))
        .select("row", code=pl.col("category").rank("dense").cast(pl.Int64) - 1)
        .unique()
        .sort("row", "code")
    )
    offsets = np.zeros(len(series) + 1, np.int64)
    np.cumsum(np.bincount(pairs["row"].to_numpy(), minlength=len(series)), out=offsets[1:])
    return offsets, pairs["code"].to_numpy()
