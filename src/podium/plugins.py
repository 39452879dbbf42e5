"""Modules that register entries and that are imported only when a name is looked up.

Other packages name such modules in entry points of the group `GROUP`, see `podium.registry`.
"""

from __future__ import annotations

import importlib.metadata
import threading

from podium.errors import warn

GROUP = "podium.plugins"
"""The entry point group in which other packages name their modules with entries."""


class _Plugins:
    """The state of the plugins, and the lock that lets one thread import them."""

    loaded = False
    lock = threading.RLock()


def load_plugins() -> None:
    """Import the modules of the entry points, once per process.

    Warns
    -----
    PodiumWarning
        If the module of an entry point cannot be imported. Its names remain unknown.
    """
    with _Plugins.lock:  # other threads wait; a plugin in this thread can look up names
        if _Plugins.loaded:
            return
        _Plugins.loaded = True
        for point in importlib.metadata.entry_points(group=GROUP):
            try:
                point.load()
            except Exception as error:  # a foreign module can raise anything
                warn(
                    f"The plugin {point.name} ({point.value}) could not be imported: {error!r}. "
                    "The names that it registers are unknown."
                )
