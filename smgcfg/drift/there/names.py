"""What the names in a package's source stand for, found without importing it."""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib.util
import math
import os
import tokenize
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class Unknown:
    """A value that the source alone does not tell, and why."""

    def __init__(self, why: str) -> None:
        self.why = why


class Scope:
    """Names, and what they stand for. A `Later` is made a value when it is first asked for."""

    def __init__(self, module: Module | None, parent: Scope | None = None) -> None:
        self.module: Module = self if module is None else module  # type: ignore[assignment]  # only a module has none
        self.parent = parent
        self.names: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        """Return what a name stands for: a value, or `Unknown`."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.own(name)
            scope = scope.parent
        return BUILTINS.get(name, Unknown(f"{name} is not defined in {self.module.name}"))

    def own(self, name: str) -> Any:
        """Return what one of the scope's own names stands for."""
        value = self.names[name]
        if isinstance(value, Later):
            self.names[name] = Unknown(f"{name} is defined by itself")
            value = self.names[name] = value.make()
        return value


class Later:
    """A value that is made when it is asked for: most of what a module defines never is."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


class Module(Scope):
    """A module of the package.

    Attributes:
        name: Its dotted name.
        package: The package that its relative imports begin in.
    """

    def __init__(self, name: str, package: str) -> None:
        super().__init__(None)
        self.name = name
        self.package = package
        self.names["__name__"] = name


class Class:
    """A class of the package."""

    def __init__(self, name: str, scope: Scope, bases: list[Any]) -> None:
        self.name = name
        self.scope = scope
        self.bases = bases

    def find(self, name: str) -> Any:
        """Return an attribute: its own, or that of a base."""
        if name in self.scope.names:
            return self.scope.own(name)
        missing = Unknown(f"{self.name} has no {name}")
        for base in self.bases:
            if isinstance(base, Unknown):
                missing = base
            found = base.find(name) if isinstance(base, Class) else getattr(base, name, missing)
            if not isinstance(found, Unknown):
                return found
        return missing

    def roots(self) -> Iterator[type]:
        """Return the classes outside the package that it comes from."""
        for base in self.bases:
            if isinstance(base, Class):
                yield from base.roots()
            elif isinstance(base, type):
                yield base


class Function:
    """A function of the package. As the type of an argument it only lends its name."""

    def __init__(self, node: Any, scope: Scope) -> None:
        self.node = node
        self.scope = scope
        self.owner: Class | None = None  # of a class method
        self.__name__ = getattr(node, "name", "lambda")

    def __call__(self, word: str) -> str:
        return word


class Package:
    """The source files of one package.

    Args:
        name: The name of the package.
        folders: Where its modules are.
    """

    def __init__(self, name: str, folders: Iterable[str]) -> None:
        self.name = name
        self.folders = list(folders)
        self.modules: dict[str, Module | None] = {}

    def has(self, module: str) -> bool:
        """Whether a dotted name is below this package."""
        return module.partition(".")[0] == self.name

    def file(self, module: str) -> str | None:
        """Return the source file of a module, or None when there is none."""
        parts = module.split(".")[1:]
        for folder in self.folders:
            path = os.path.join(folder, *parts)
            for candidate in (os.path.join(path, "__init__.py"), path + ".py"):
                if os.path.isfile(candidate):
                    return candidate
        return None

    def files(self) -> Iterator[str]:
        """Return the dotted names of all its modules, in an order that is always the same."""
        for folder in self.folders:
            for path, folders, names in os.walk(folder):
                folders.sort()
                inside = [self.name, *os.path.relpath(path, folder).split(os.sep)]
                for name in sorted(names):
                    if name.endswith(".py"):
                        parts = [part for part in (*inside, name[:-3]) if part not in (".", "__init__")]
                        yield ".".join(parts)


def installed(name: str) -> Package:
    """Return a package that this interpreter has, without importing it.

    Raises:
        LookupError: It has none of that name.
    """
    spec = importlib.util.find_spec(name)
    if spec is None or spec.submodule_search_locations is None:
        raise LookupError(f"no package {name}")
    return Package(name, spec.submodule_search_locations)


def parsed(path: str) -> ast.Module:
    """Return the syntax tree of a source file.

    Raises:
        OSError, SyntaxError: It can not be read.
    """
    with tokenize.open(path) as file:
        return ast.parse(file.read(), path)


def _unset(_: str, default: Any = None) -> Any:
    return default


def _field(default: Any = None, **_: Any) -> Any:
    return default


#: The parts of the standard library that flags are registered with. Where a default comes from the environment, the
#: parser's own is the one of an empty environment.
LIBRARY: dict[str, Any] = {
    "argparse": argparse,
    "dataclasses": types.SimpleNamespace(field=_field, MISSING=Unknown("a field without a default")),
    "math": math,
    "os": types.SimpleNamespace(getenv=_unset, environ=types.SimpleNamespace(get=_unset)),
    "typing": typing,
}

BUILTINS: dict[str, Any] = {
    name: getattr(builtins, name)
    for name in (
        *("abs", "all", "any", "bool", "dict", "enumerate", "float", "frozenset", "int", "len", "list", "max", "min"),
        *("range", "repr", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"),
    )
}
