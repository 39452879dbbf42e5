"""A reader of pickles that imports and calls nothing that a pickle names.

Python's own reader calls the functions that a file names, and a file can name functions that do
harm. This reader records each call with its name and arguments instead.
"""

from __future__ import annotations

import io
import pickletools
import warnings
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, cast


class PickleError(Exception):
    """A pickle is damaged, or contains something that pickled plain tables do not contain."""


@dataclass(frozen=True, eq=False, slots=True)
class Name:
    """A function or class that a pickle names."""

    module: str
    name: str


@dataclass(eq=False, slots=True)
class Call:
    """A recorded call: the name, the arguments, and the state that was set afterwards."""

    function: Name
    args: tuple[Any, ...]
    state: Any = None


def read_pickle(content: bytes, allowed: Container[tuple[str, str]]) -> Any:
    """Return the content of a pickle, with a `Call` in place of each call.

    Parameters
    ----------
    content : bytes
    allowed : container of (module, name)
        The names that may occur.

    Raises
    ------
    PickleError
        If the pickle is damaged, contains another name, or calls something without a name.
    """
    machine = _Machine(allowed)
    try:
        with warnings.catch_warnings(action="ignore"):  # about escapes in old text protocols
            for opcode, arg, _ in pickletools.genops(io.BytesIO(content)):
                machine.step(opcode.name, arg)
        return machine.stack.pop()
    except (IndexError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        reason = str(error) if isinstance(error, ValueError) else "the file is damaged"
        raise PickleError(reason) from None


class _Machine:
    """The stack and the memo of a pickle machine."""

    def __init__(self, allowed: Container[tuple[str, str]]) -> None:
        self.stack: list[Any] = []
        self._marks: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        self._allowed = allowed

    def step(self, name: str, arg: Any) -> None:
        """Execute one instruction."""
        if name in _VALUES:
            self.stack.append(arg)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name]())
        elif name in _MEMO:
            self._remember(name, arg)
        elif name in _STEPS:
            _STEPS[name](self, arg)
        elif name not in _IDLE:
            raise PickleError(f"it has the instruction {name}, which plain tables do not")

    def _remember(self, name: str, arg: Any) -> None:
        if name.endswith("GET"):
            self.stack.append(self._memo[arg])
        else:
            self._memo[len(self._memo) if name == "MEMOIZE" else arg] = self.stack[-1]

    def mark(self, _: Any) -> None:
        self._marks.append(self.stack)
        self.stack = []

    def since_mark(self) -> list[Any]:
        """Remove the last mark and the values above it; return these values."""
        above, self.stack = self.stack, self._marks.pop()
        return above

    def pop_mark(self, _: Any) -> None:
        self.since_mark()

    def pop(self, _: Any) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.since_mark()

    def dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def tuple(self, _: Any) -> None:
        above = self.since_mark()
        self.stack.append(tuple(above))

    def list(self, _: Any) -> None:
        above = self.since_mark()
        self.stack.append(above)

    def dict(self, _: Any) -> None:
        above = self.since_mark()
        self.stack.append({})
        self._set(above)

    def gather(self, n: int) -> None:
        """Replace the last n values by a tuple of them."""
        if len(self.stack) < n:
            raise IndexError
        self.stack[-n:] = [tuple(self.stack[-n:])]

    def append(self, _: Any) -> None:
        value = self.stack.pop()
        self._list().append(value)

    def appends(self, _: Any) -> None:
        above = self.since_mark()
        self._list().extend(above)

    def set_item(self, _: Any) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._set([key, value])

    def set_items(self, _: Any) -> None:
        above = self.since_mark()
        self._set(above)

    def push_name(self, arg: str) -> None:
        self._name(*arg.split(" ", 1))

    def push_name_from_stack(self, _: Any) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self._name(module, name)

    def call(self, _: Any) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if isinstance(function, Call) and function.function.name == "partial" and function.args:
            function = function.args[0]
        if not isinstance(function, Name) or not isinstance(args, tuple):
            raise PickleError("it calls an object that is not a function")
        self.stack.append(Call(function, cast("tuple[Any, ...]", args)))

    def set_state(self, _: Any) -> None:
        state, call = self.stack.pop(), self.stack[-1]
        if not isinstance(call, Call):
            raise PickleError("it sets the state of an object that has none")
        call.state = state

    def _name(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise PickleError("it contains an invalid function name")
        if (module, name) not in self._allowed:
            raise PickleError(f"it names {f'{module}.{name}'[:80]}, which plain tables do not")
        self.stack.append(Name(module, name))

    def _list(self) -> list[Any]:
        if not isinstance(self.stack[-1], list):
            raise TypeError
        return cast("list[Any]", self.stack[-1])

    def _set(self, pairs: list[Any]) -> None:
        target, keys = self.stack[-1], pairs[::2]
        # Only plain types: the hash of deeply nested tuples overflows the process's stack.
        if not isinstance(target, dict) or any(type(key) not in (str, int) for key in keys):
            raise TypeError
        cast("dict[Any, Any]", target).update(zip(keys, pairs[1::2], strict=True))


_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "UNICODE",
    "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "FLOAT", "BINFLOAT",
}  # fmt: skip
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": lambda: (),
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
_MEMO = {"GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
_IDLE = {"PROTO", "FRAME", "STOP"}
_STEPS: dict[str, Callable[[_Machine, Any], None]] = {
    "MARK": _Machine.mark,
    "POP": _Machine.pop,
    "POP_MARK": _Machine.pop_mark,
    "DUP": _Machine.dup,
    "TUPLE": _Machine.tuple,
    "TUPLE1": lambda machine, _: machine.gather(1),
    "TUPLE2": lambda machine, _: machine.gather(2),
    "TUPLE3": lambda machine, _: machine.gather(3),
    "LIST": _Machine.list,
    "DICT": _Machine.dict,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.set_item,
    "SETITEMS": _Machine.set_items,
    "GLOBAL": _Machine.push_name,
    "STACK_GLOBAL": _Machine.push_name_from_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.call,
    "BUILD": _Machine.set_state,
}
