"""Argument checks that several modules share.

Each check returns the value in the form that the rest of podium uses, or raises an ArgumentError
that states the name of the parameter, what is wrong, the value, and what to do.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, Literal, TypeAlias, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import ArgumentError, MissingExtraError, arg, hint

T = TypeVar("T", bound=str)

Check: TypeAlias = Callable[[Any, str], Any]
"""A function of a parameter and its name, which returns the checked parameter."""
Constraints: TypeAlias = Mapping[str, Check]
"""The checks of parameters by name."""

_LARGEST = 2**63 - 1
_BLOCK = 2**18  # values that are checked at a time
_WORDS = {"none": None, "true": True, "false": False}


def parameters(owner: Any) -> dict[str, Any]:
    """Return the parameters of a dataclass, checked by the `constraints` of its classes.

    `constraints` maps names of parameters to checks. A subclass adds its own to those of its bases,
    and may replace them. None is accepted where it is the default.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Model:
    ...     constraints = {"l2": positive}
    ...     l2: float = 1
    >>> parameters(Model())
    {'l2': 1.0}
    """
    checks: dict[str, Check] = {}
    for base in reversed(type(owner).__mro__):
        checks |= vars(base).get("constraints", {})
    checked = {field.name: getattr(owner, field.name) for field in dataclasses.fields(owner)}
    defaults = {field.name: field.default for field in dataclasses.fields(owner)}
    for name in checked.keys() & checks.keys():
        if checked[name] is not None or defaults[name] is not None:
            checked[name] = checks[name](checked[name], name)
    return checked


@overload
def cutoff(k: Any, name: str = "k", *, required: Literal[True] = True) -> int: ...
@overload
def cutoff(k: Any, name: str = "k", *, required: bool) -> int | None: ...
def cutoff(k: Any, name: str = "k", *, required: bool = True) -> int | None:
    """Return k as an int >= 1; None (the whole list) is accepted only if not required."""
    if k is None and not required:
        return None
    value = _index(k)
    if value > _LARGEST:
        raise ArgumentError(f"{arg[name]} must be below 2 ** 63, got {value}.")
    if value < 1:
        meaning = " (the whole list)" if name in ("k", "depth") else ""
        alternative = "" if required else hint(f" or None{meaning}")
        raise ArgumentError(f"{arg[name]} must be an integer >= 1{alternative}, got {k!r}.")
    return value


def _index(value: Any) -> int:
    """Return an integer, and -1 for another value."""
    try:
        return -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return -1


def _float(value: Any) -> float:
    """Return a number as a float, and nan for another value."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def bounds(value: Any, name: str = "bounds") -> tuple[float, float]:
    """Return value as a pair of floats, the lower one first; each may be infinite."""
    try:
        low, high = (float(bound) for bound in value)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not low <= high:
        raise ArgumentError(
            f"{name} must be two numbers, the lower one first, such as (0, 1), got {value!r}."
        )
    return low, high


def number(
    value: Any, name: str, *, low: float, high: float = np.inf, strict: bool = False
) -> float:
    """Return value as a float inside [low, high], or greater than low if strict."""
    result = _float(value)
    if not (low < result <= high if strict else low <= result <= high) or not np.isfinite(result):
        sign = ">" if strict else ">="
        least = "finite number" if low == -np.inf else f"number {sign} {low:g}"
        top = "" if high == np.inf else f" and <= {high:g}"
        raise ArgumentError(f"{arg[name]} must be a {least}{top}, got {value!r}.")
    return result


def positive(value: Any, name: str) -> float:
    """Return value as a float > 0."""
    return number(value, name, low=0.0, strict=True)


def choice(value: Any, name: str, options: Sequence[T]) -> T:
    """Return value if it is one of the options, else raise with the options."""
    if isinstance(value, str):
        for option in options:
            if value == option:
                return option
    raise ArgumentError(
        f"{arg[name]} must be one of {listed(options)}, got {value!r}.{nearest(value, options)}"
    )


def flag(value: Any, name: str) -> bool:
    """Return value if it is True or False; a text such as "false" would count as True."""
    if isinstance(value, bool | np.bool_):
        return bool(cast("Any", value))
    raise ArgumentError(f"{arg[name]} must be True or False, got {value!r}.")


def is_sparse(value: object) -> bool:
    """Return whether value is a sparse matrix of SciPy, without importing SciPy."""
    return hasattr(value, "tocsr")


def bad_cells(X: Any, is_bad: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> tuple[int, int, int]:
    """Return how many values of an array or CSR matrix are bad, and the first one's row and column.

    The places are -1 if there are none. Values are read in blocks, since flags of all of them at
    once would need too much memory.
    """
    values = X.data if is_sparse(X) else X
    width = 1 if is_sparse(X) else X.shape[1]
    n_bad, first = 0, -1
    step = max(1, _BLOCK // max(1, width))
    for start in range(0, values.shape[0], step):
        flags = is_bad(values[start : start + step]).ravel()
        n_bad += int(np.count_nonzero(flags))
        if first < 0 < n_bad:
            first = start * width + int(np.argmax(flags))
    if first < 0:
        return 0, -1, -1
    if is_sparse(X):
        row = int(np.searchsorted(X.indptr, first, side="right")) - 1
        return n_bad, row, int(X.indices[first])
    return n_bad, *divmod(first, width)


def not_finite(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are nan or infinite."""
    return ~np.isfinite(values)


def listed(options: Iterable[str]) -> str:
    """Return "'a', 'b' or 'c'"."""
    quoted = [repr(o) for o in options]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def nearest(value: Any, options: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" if one of the options is similar, else an empty text."""
    by_lower_case = {option.lower(): option for option in options}
    text = str(value).lower()
    matches = [option for option in by_lower_case if _abbreviated(option) == text]
    matches = matches or difflib.get_close_matches(text, list(by_lower_case), n=1)
    return f" Did you mean {by_lower_case[matches[0]]!r}?" if matches else ""


def _abbreviated(name: str) -> str:
    """Return "pap-ts" for "pap-tight-struct"."""
    first, *others = name.split("-")
    return f"{first}-{''.join(word[:1] for word in others)}"


def on_host(values: Any) -> Any:
    """Return a tensor of torch as an array; all other values as they are.

    The tensor may need gradients and lie on any device. NumPy lacks bfloat16 and some shorter
    types: they become float32, which represents all their values. torch is not imported.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(values, torch.Tensor):
        return values
    tensor = values.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:
        return tensor.float().numpy()


def array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return values as an array; lists of different lengths are an error."""
    try:
        return np.asarray(on_host(values))
    except ValueError:
        raise ArgumentError(f"{name} must be an array, got lists of different lengths.") from None


def column(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a contiguous one-dimensional float64 array."""
    try:
        array = np.asarray(on_host(values))
        is_complex = array.dtype.kind == "c"
        array = array if is_complex else np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must hold numbers, got {_kind(values)}.") from None
    if is_complex:
        raise ArgumentError(f"{name} must hold real numbers, got complex ones.")
    return one_dimensional(array, name)


def one_dimensional(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the array if it has one axis."""
    if array.ndim != 1:
        raise ArgumentError(f"{name} must have one dimension, got shape {array.shape}.")
    return array


def equal_length(**arrays: Any) -> None:
    """Raise unless all named arrays have the length of the first."""
    for name, values in arrays.items():
        if not has_length(values):
            raise ArgumentError(f"{name} must be a column of values, got {values!r}.")
    lengths = {name: len(array) for name, array in arrays.items()}
    first, reference = next(iter(lengths.items()), ("", 0))
    for name, length in lengths.items():
        if length != reference:
            raise ArgumentError(
                f"{first} and {name} must have equal length, got {reference} and {length}."
            )


def has_length(values: Any) -> bool:
    """Return whether values have a length; a number, an iterator and a sparse matrix have none."""
    try:
        len(values)
    except TypeError:
        return False
    return True


def whole(values: NDArray[np.float64], largest: float) -> NDArray[np.bool_]:
    """Return which numbers are integers of at most this absolute value; False for nan.

    Examples
    --------
    >>> whole(np.array([2.0, 2.5, 1e300, np.nan]), 2.0**53).tolist()
    [True, False, False, False]
    """
    with np.errstate(invalid="ignore"):  # a signalling nan of a file gives a warning
        return (np.abs(values) <= largest) & (values == np.trunc(values))


def finite(values: NDArray[np.float64], name: str, qid: Any = None, *, advice: str) -> None:
    """Raise if values are NaN or infinite, with their number and the row and group of the first."""
    is_finite = np.isfinite(values)
    if is_finite.all():
        return
    bad_rows = np.flatnonzero(~is_finite)
    raise ArgumentError(
        f"{name} has {bad_rows.size} non-finite value{'s' if bad_rows.size > 1 else ''}, "
        f"first at row {bad_rows[0]}{_group(qid, bad_rows[0])}. {advice}"
    )


def scores(values: ArrayLike, qid: Any = None, *, name: str = "scores") -> NDArray[np.float64]:
    """Return finite float64 scores."""
    array = column(values, name)
    finite(array, name, qid, advice="Drop those rows, or give them a low finite score.")
    return array


def relevance(
    values: ArrayLike, qid: Any = None, *, name: str = "relevance"
) -> NDArray[np.float64]:
    """Return finite float64 relevances >= 0."""
    array = column(values, name)
    finite(array, name, qid, advice="Drop those rows, or set them to 0.")
    return _not_negative(array, name, qid, " Shift the grades so that 0 means not relevant.")


def _not_negative(
    array: NDArray[np.float64], name: str, qid: Any, advice: str = ""
) -> NDArray[np.float64]:
    """Return an array without values below 0, or raise with the row and group of the first."""
    if array.size and array.min() < 0:
        row = int(np.argmax(array < 0))
        raise ArgumentError(
            f"{name} must be >= 0, got {array[row]:g} at row {row}{_group(qid, row)}.{advice}"
        )
    return array


def grouped(qid: Any, reader: str, *, request: str, where: str = "") -> None:
    """Raise if qid is missing although `reader` uses groups.

    Without qid, all rows would be one group.
    """
    if qid is not None or not reader:
        return
    routed = f"sklearn.set_config(enable_metadata_routing=True) and .{request}(qid=True)"
    how = "Pass eval_set=(X, y, qid)" if where else f"Pass qid (in scikit-learn's tools: {routed})"
    raise ArgumentError(
        f"{where}qid is missing, but {reader} needs groups. {how}, or construct the estimator with "
        f"{arg.one_group(True)} if all rows are one list."
    )


def extra(module: str, name: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or raise with the extra that contains it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"{purpose} needs {module}, which is not installed. Run: pip install 'podium[{name}]'"
        ) from None


def label(value: Any) -> str:
    """Return a group label as messages show it: 7 or 'u93'."""
    return repr(cast("Any", value).item() if isinstance(value, np.generic) else value)


def _group(qid: Any, row: Any) -> str:
    if qid is None or np.shape(qid) == () or row >= len(qid):
        return ""
    return f" (qid {label(qid[row])})"


def _kind(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"an array of {cast('NDArray[Any]', values).dtype}"
    return type(values).__name__


def weights(
    values: ArrayLike, n_rows: int, qid: Any = None, *, name: str = "weights"
) -> NDArray[np.float64]:
    """Return finite weights >= 0, one per row."""
    array = column(values, name)
    if array.size != n_rows:
        raise ArgumentError(f"{name} must have {n_rows} values, one per row, got {array.size}.")
    finite(array, name, qid, advice="Set them to 0 to leave those rows out.")
    return _not_negative(array, name, qid)


def open_fraction(value: Any, name: str) -> float:
    """Return value as a float > 0 and < 1."""
    result = _float(value)
    if not 0.0 < result < 1.0:
        raise ArgumentError(f"{arg[name]} must be a number > 0 and < 1, got {value!r}.")
    return result


def no_infinity(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return values that are all finite or nan (undefined)."""
    infinite = np.isinf(values)
    if infinite.any():
        raise ArgumentError(
            f"{name} must be finite, or nan where undefined, got {int(infinite.sum())} infinite, "
            f"first at position {int(np.argmax(infinite))}."
        )
    return values


def probabilities(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return float64 values that are in [0, 1] or nan."""
    array = column(values, name)
    is_outside = (array < 0) | (array > 1)
    if is_outside.any():
        first = int(np.argmax(is_outside))
        raise ArgumentError(f"{name} must lie in [0, 1], got {array[first]:g} at position {first}.")
    return array


def seed(value: Any, name: str = "seed") -> int:
    """Return a seed as an int >= 0."""
    return count(value, name)


def count(value: Any, name: str, *, low: int = 0) -> int:
    """Return value as an int >= low, which is not negative."""
    result = _index(value)
    if result < low:
        raise ArgumentError(f"{arg[name]} must be an integer >= {low}, got {value!r}.")
    return result


def known_parameters(name: str, known: Sequence[str], params: Iterable[str]) -> None:
    """Raise if a parameter is not among the known ones."""
    for param in params:
        if param not in known:
            raise ArgumentError(
                f"{name} has no parameter {param!r}.{nearest(param, known)} "
                f"It takes {listed(known) if known else 'none'}."
            )


def plain_value(word: str) -> Any:
    """Return the value of none, true, false or a number, or else the word itself."""
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
