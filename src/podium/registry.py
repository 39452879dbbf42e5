"""The registry of everything that has a name: metrics, losses, estimators and models.

The text of each entry is ``name(param=value, …)@k``. Each kind has a `REGISTRY` and the functions
`register` (add an entry under a name), `get` (make a value from a name and parameters) and
`parse` (make a value from a text). ``str(value)`` is the text, and ``parse(str(value)) == value``.
Rankers and recommenders are scikit-learn estimators and are printed as such.

To add an entry from another package, register it in a module of that package, and name the module
in an entry point of the group `podium.plugins.GROUP`::

    # mypackage/podium.py
    from podium import losses, metrics, sampled

    @losses.register
    @dataclass(frozen=True)
    class Focal: ...  # with the class attribute name = "focal"

    # pyproject.toml
    [project.entry-points."podium.plugins"]
    mypackage = "mypackage.podium"

These modules are imported when an unknown name is looked up and when names are listed: in a script,
on the command line, in a worker process and when a model file is loaded (`podium.plugins`).
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar, cast

from podium import _check
from podium._grammar import NAME, read, write
from podium.errors import ArgumentError
from podium.plugins import load_plugins

T = TypeVar("T")
C = TypeVar("C", bound=type[Any])


class Elsewhere(NamedTuple):
    """A class that is imported when it is first looked up."""

    module: str
    cls: str

    def load(self) -> Any:
        """Import the module and return the class."""
        return getattr(importlib.import_module(self.module), self.cls)


class Registry(Mapping[str, T]):
    """Entries by name.

    Parameters
    ----------
    noun : str
        The kind of the entries, for messages.
    form : str
        The form of their texts and an example, for messages.
    suffix : str
        An ending of names that is omitted from the text.
    ignore_case : bool
        Whether upper and lower case are the same in names that are looked up.

    Attributes
    ----------
    aliases : dict of str to str
        Other names of entries.
    """

    def __init__(
        self, noun: str, form: str, *, suffix: str = "", ignore_case: bool = False
    ) -> None:
        self.noun, self.form, self.suffix, self.ignore_case = noun, form, suffix, ignore_case
        self.aliases: dict[str, str] = {}
        self._spellings: dict[str, str] = {}  # if ignore_case: names in lower case to names
        self._entries: dict[str, T | Elsewhere] = {}

    def enter(self, name: str, entry: T | Elsewhere, aliases: Iterable[str] = ()) -> None:
        """Add an entry under a name.

        Parameters
        ----------
        name : str
        entry : object
            The entry. It replaces an entry of the same name that the same code made before, as
            happens in a notebook. `Elsewhere` represents a class that is not imported yet.
        aliases : iterable of str
            Other names of the entry.

        Raises
        ------
        ArgumentError
            If a name is taken, also in another case if `ignore_case`, or contains characters that
            `read` does not accept.
        """
        ending = self.suffix if name.endswith(self.suffix) else ""
        new_aliases = {f"{alias}{ending}": name for alias in aliases}
        for new_name in (name, *new_aliases):
            self._check_name(new_name, name, entry)
        self._entries[name] = entry
        self.aliases.update(new_aliases)
        if self.ignore_case:
            self._spellings.update({known.lower(): known for known in (name, *new_aliases)})

    def _check_name(self, name: str, owner: str, entry: T | Elsewhere) -> None:
        if not NAME.fullmatch(name.removesuffix(self.suffix)):
            raise ArgumentError(
                f"{self.noun} {name!r} has an invalid name. Begin the name with a letter, and use "
                "only letters, digits, '-', '_' and ':'."
            )
        current = self._entries.get(self._registered(name))
        previous = self._entries.get(owner)
        if current is not None and not (current is previous and _origin(current) == _origin(entry)):
            raise ArgumentError(
                f"{self.noun} {name!r} is taken by {_origin(current)}. Choose another name."
            )

    def find(self, *names: str) -> T | None:
        """Return the entry of the first of these names or aliases that exists, or None."""
        for load in (None, load_plugins):
            if load is not None:
                load()
            for name in names:
                entry = self._entries.get(self._registered(name))
                if entry is not None:
                    return _imported(entry)
        return None

    def _registered(self, name: str) -> str:
        """Return the name of the entry that a name, an alias or another case of it represents."""
        spelling = self._spellings.get(name.lower(), name)
        return self.aliases.get(spelling, spelling)

    def _known_with_plugins(self) -> dict[str, T | Elsewhere]:
        load_plugins()
        return self._entries

    def __getitem__(self, name: str) -> T:
        entries = self._entries if name in self._entries else self._known_with_plugins()
        return _imported(entries[name])

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._known_with_plugins()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._known_with_plugins()))

    def __len__(self) -> int:
        return len(self._known_with_plugins())


def _imported(entry: Any) -> Any:
    return entry.load() if isinstance(entry, Elsewhere) else entry


def _origin(entry: Any) -> str:
    """Return the module and name of the code that made an entry."""
    if isinstance(entry, Elsewhere):
        return f"{entry.module}.{entry.cls}"
    source = entry if isinstance(entry, type) else entry.function
    return f"{source.__module__}.{source.__qualname__}"


class Classes(Registry[type[T]], Generic[T]):
    """Classes by name; instances are made from texts.

    Parameters
    ----------
    noun, form : str
        The kind and the form of the entries, see `Registry`.
    base : type or tuple of types
        The classes whose instances `make` returns unchanged.
    """

    def __init__(self, noun: str, form: str, *, base: type | tuple[type, ...] = ()) -> None:
        super().__init__(noun, form)
        self.base = base

    def make(self, name: str | T, **params: Any) -> T:
        """Make an instance from a name or text and further parameters.

        Parameters
        ----------
        name : str
            A name, an alias or a text. An instance is returned unchanged.
        **params
            The fields of the class.

        Raises
        ------
        ArgumentError
            If the name is unknown, or parameters are unknown, missing or given twice.
        """
        if isinstance(name, self.base):
            if params:
                raise ArgumentError(
                    f"{name} is an instance and takes no further parameters, got {sorted(params)}."
                )
            return cast("T", name)
        text = cast("str", name)
        base, text_params = self.split(text)
        for param, value in text_params.items():
            if param in params:
                raise ArgumentError(
                    f"{param} is given twice: as {value!r} in {text!r} and as {params[param]!r}. "
                    "Keep one."
                )
        return self._make(base, self[self._entry_name(base)], {**text_params, **params})

    def parse(self, text: str | T) -> T:
        """Make an instance from its text alone."""
        return self.make(text)

    def split(self, text: str) -> tuple[str, dict[str, Any]]:
        """Divide a text into a name and parameters, with k among them; the name may be unknown.

        The values none, true, false and numbers are converted; others are strings and may contain
        parentheses.
        """
        name, words, k = read(text, self.noun, self.form)
        params = {param: _check.plain_value(value) for param, value in words.items()}
        if k is None:
            return name, params
        if "k" in params:
            raise ArgumentError(f"k is given twice in {text!r}. Keep one.")
        return name, {**params, "k": k}

    def _entry_name(self, name: str) -> str:
        """Return the name that an alias represents, or raise with the names that exist."""
        if self.find(name) is None:
            _check.choice(name, self.noun, list(self))
        return self.aliases.get(name, name)

    def _make(self, name: str, cls: type[T], params: Mapping[str, Any]) -> T:
        fields = _fields(cls)
        _check.known_parameters(name, list(fields), params)
        for param, default in fields.items():
            if default is inspect.Parameter.empty and param not in params:
                text = f"{name}@10" if param == "k" else f"{name}({param}=10)"
                raise ArgumentError(f"{name} needs {param}: write '{text}', or pass {param}=10.")
        return cls(**params)


class Values(Classes[T]):
    """Frozen dataclasses by their class attribute `name`; ``str`` of an instance is its text."""

    def register(self, cls: C) -> C:
        """Add a class under its `name` and set the ``str`` of its instances to their text."""

        def written(value: Any) -> str:
            return self.text(value)

        self.enter(cls.name, cast("type[T]", cls))
        cls.__str__ = written  # pyright: ignore[reportAttributeAccessIssue]
        return cls

    def params(self, value: T) -> dict[str, Any]:
        """Return the fields of an instance."""
        values = vars(value)
        return {name: values[name] for name in _fields(type(value))}

    def text(self, value: T) -> str:
        """Return the text of an instance without default values, or its repr if it has no text."""
        params = self.params(value)
        defaults = _fields(type(value))
        non_defaults = {name: field for name, field in params.items() if field != defaults[name]}
        text_types = (str, int, float, type(None), self.base)
        has_text = all(isinstance(field, text_types) for field in non_defaults.values())
        if not has_text or self.find(cast("Any", value).name) is not type(value):
            return repr(value)
        k = non_defaults.pop("k") if isinstance(non_defaults.get("k"), int) else None
        return write(cast("Any", value).name, non_defaults, k)


class Models(Classes[T]):
    """Estimators by name, which may be imported at the first look-up.

    A model file names its class without the module, so class names must be unique.
    """

    def register(self, name: str) -> Callable[[C], C]:
        """Add a class under a name."""

        def enter(cls: C) -> C:
            self.enter(name, cast("type[T]", cls))
            return cls

        return enter

    def register_at(self, name: str, module: str, cls: str) -> None:
        """Add a class by the module that contains it, which is not imported yet."""
        self.enter(name, Elsewhere(module, cls))

    def enter(self, name: str, entry: type[T] | Elsewhere, aliases: Iterable[str] = ()) -> None:
        """Add a class under a name, unless another class has the same class name."""
        current = self._by_class().get(_class_name(entry), entry)
        if _origin(current) != _origin(entry):
            raise ArgumentError(
                f"{self.noun} {name!r} has the class name {_class_name(entry)}, which in model "
                f"files means {_origin(current)}. Give the class another name."
            )
        super().enter(name, entry, aliases)

    def class_names(self) -> list[str]:
        """Return the names of all classes, sorted."""
        load_plugins()
        return sorted(self._by_class())

    def get_class(self, name: str) -> type[T]:
        """Return the class of this name in a model file, or raise with the names that exist."""
        if name not in self._by_class():
            load_plugins()
        classes = self._by_class()
        return _imported(classes[_check.choice(name, "class", list(classes))])

    def _by_class(self) -> dict[str, type[T] | Elsewhere]:
        return {_class_name(entry): entry for entry in self._entries.values()}


def _class_name(entry: type[Any] | Elsewhere) -> str:
    return entry.cls if isinstance(entry, Elsewhere) else entry.__name__


@functools.cache
def _fields(cls: type[Any]) -> Mapping[str, Any]:
    """Return the parameters of a class and their defaults, `inspect.Parameter.empty` if none."""
    return {
        name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()
    }
