"""Commands whose --help shows no type beside a flag, which takes no value."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, --help among them."""
        return _untyped(super().get_params(ctx))


class Group(TyperGroup):
    """The program."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, --help among them."""
        return _untyped(super().get_params(ctx))


def _untyped(params: list[Any]) -> list[Any]:
    for each in params:
        if getattr(each, "is_flag", False):
            each.metavar = ""
    return params
