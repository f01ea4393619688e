"""A parser built from the source that builds it: nothing of the program is imported or run.

The statements of the function that registers the flags are followed as far as their values are plain. What the source
alone does not tell (what a compiled module returns, what the machine has) is `Unknown`, with the reason; never guessed.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterable
from functools import partial
from typing import Any

from .names import BUILTINS, LIBRARY, Class, Function, Later, Module, Package, Scope, Unknown, parsed
from .values import Values

#: Calls in calls before the reading gives up.
DEPTH = 40

_PLAIN = (str, bytes, int, float, list, tuple, set, frozenset, dict)
_GROUPS = ("add_argument_group", "add_mutually_exclusive_group")
#: What of a registration is about the flag's shape; the rest is for the help, or for an action of the program's own.
_SHAPE = ("action", "nargs", "const", "default", "type", "choices", "dest")


class _End:
    """How a block ended before its last statement: the kind of the statement that ended it, and what it returned."""

    def __init__(self, kind: type, value: Any) -> None:
        self.kind = kind
        self.value = value


class Reader(Values):
    """Follows the source of one package.

    Attributes:
        parser: What the source registers its flags on: a real parser.
        notes: Per flag (the `id` of its action) what is not known of it: the part of its shape, and why.
        unread: What could not be read as a flag at all.
    """

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self.parser = argparse.ArgumentParser(add_help=False)
        self.notes: dict[int, dict[str, str]] = {}
        self.unread: list[str] = []
        self._depth = 0
        self._conditions: list[str] = []

    def register(self, module: str, function: str) -> None:
        """Follow the function that registers the flags.

        Args:
            module: The dotted name of its module.
            function: Its name there, behind that of its class where it has one.

        Raises:
            LookupError: There is no such function.
        """
        found: Any = self.module(module)
        for name in function.split("."):
            found = found.find(name) if isinstance(found, (Scope, Class)) else Unknown("")
        if not isinstance(found, Function):
            raise LookupError(f"no {function} in {module}")
        names = [argument.arg for argument in found.node.args.args if "parser" in argument.arg]
        self._run(found, [], dict.fromkeys(names, self.parser))

    # --- modules and classes: names first, values when they are asked for ---

    def module(self, name: str) -> Module | Unknown:
        modules = self.package.modules
        if name not in modules:
            path = self.package.file(name)
            modules[name] = None
            if path is not None:
                inside = path.endswith("__init__.py")
                made = modules[name] = Module(name, name if inside else name.rpartition(".")[0])
                self._define(parsed(path).body, made)
        return modules[name] or Unknown(f"{name} is no Python source")

    def _define(self, body: Iterable[Any], scope: Scope) -> None:
        """Take the names that the body of a module or class defines."""
        for node in body:
            if isinstance(node, ast.If):
                self._either(scope, "a condition at import", lambda part: self._define(part, scope), node)
            elif isinstance(node, (ast.Try, ast.With)):
                self._define([*node.body, *getattr(node, "orelse", ())], scope)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in _targets(node):
                    self._define_target(target, node.value, scope)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._define_augmented(node, node.target.id, scope)
            else:
                self._define_name(node, scope)

    def _define_name(self, node: Any, scope: Scope) -> bool:
        """Take the names of a definition or an import; returns whether it is one."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            scope.names[node.name] = Function(node, scope)
        elif isinstance(node, ast.ClassDef):
            scope.names[node.name] = Later(lambda: self._class(node, scope))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                scope.names[alias.asname or name] = Later(partial(self._named, name))
        elif isinstance(node, ast.ImportFrom):
            self._import(node, scope)
        else:
            return False
        return True

    def _define_target(self, target: Any, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.names[target.id] = Later(lambda: self.value(value, scope))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for at, item in enumerate(target.elts):
                self._define_target(item, ast.Subscript(value, ast.Constant(at), ast.Load()), scope)

    def _define_augmented(self, node: ast.AugAssign, name: str, scope: Scope) -> None:
        before = scope.names.get(name)

        def make() -> Any:
            left = before.make() if isinstance(before, Later) else before
            return self.apply(node.op, left, self.value(node.value, scope))

        scope.names[name] = Later(make)

    def _class(self, node: ast.ClassDef, scope: Scope) -> Class:
        made = Class(node.name, Scope(scope.module, scope), [self.value(base, scope) for base in node.bases])
        self._define(node.body, made.scope)
        for member in made.scope.names.values():
            if isinstance(member, Function):
                member.scope = scope  # a class's own names are not in the scope of its functions
                marks = [mark.id for mark in member.node.decorator_list if isinstance(mark, ast.Name)]
                member.owner = made if "classmethod" in marks else None
        return made

    def _import(self, node: ast.ImportFrom, scope: Scope) -> None:
        origin = node.module or ""
        if node.level:
            above = scope.module.package.split(".")
            origin = ".".join([*above[: len(above) - node.level + 1], *filter(None, [origin])])
        for alias in node.names:
            if alias.name == "*":
                found = self._named(origin)
                for name in found.names if isinstance(found, Module) else ():
                    scope.names[name] = Later(partial(self.member, found, name))
            else:
                scope.names[alias.asname or alias.name] = Later(partial(self._imported, origin, alias.name))

    def _imported(self, module: str, name: str) -> Any:
        found = self._named(module)
        if not isinstance(found, Unknown):
            return self.member(found, name)
        # A package without an __init__ has modules and nothing else.
        below = self._named(f"{module}.{name}")
        return found if isinstance(below, Unknown) else below

    def _named(self, module: str) -> Any:
        if self.package.has(module):
            return self.module(module)
        return LIBRARY.get(module, Unknown(f"{module} is outside {self.package.name}"))

    # --- statements ---

    def _block(self, body: Iterable[Any], scope: Scope) -> _End | None:
        for node in body:
            end = self._statement(node, scope)
            if end is not None:
                return end
        return None

    def _statement(self, node: Any, scope: Scope) -> _End | None:
        if self._define_name(node, scope):
            return None
        if isinstance(node, ast.Expr):
            self.value(node.value, scope)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in _targets(node):
                self.assign(target, self.value(node.value, scope), scope)
        elif isinstance(node, ast.AugAssign):
            operation = ast.BinOp(node.target, node.op, node.value)
            self.assign(node.target, self.value(ast.copy_location(operation, node), scope), scope)
        elif isinstance(node, ast.If):
            return self._if(node, scope)
        elif isinstance(node, (ast.For, ast.While)):
            return self._loop(node, scope)
        elif isinstance(node, ast.With):
            return self._block(node.body, scope)
        elif isinstance(node, ast.Try):
            return self._block([*node.body, *node.orelse, *node.finalbody], scope)
        elif isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            value = getattr(node, "value", None)
            return _End(type(node), None if value is None else self.value(value, scope))
        return None

    def _if(self, node: ast.If, scope: Scope) -> _End | None:
        test = self.value(node.test, scope)
        if isinstance(test, Unknown):
            self._either(scope, test.why, lambda part: self._maybe(part, scope, test.why), node)
            return None
        return self._block(node.body if test else node.orelse, scope)

    def _either(self, scope: Scope, why: str, follow: Any, node: ast.If) -> None:
        """Follow both branches of a condition that is not known; so are then the names on which they differ."""
        before = dict(scope.names)
        follow(node.body)
        after, scope.names = scope.names, dict(before)
        follow(node.orelse)
        for name, value in after.items():
            other = scope.names.get(name, before.get(name, value))
            scope.names[name] = value if value is other else Unknown(why)
        for name in scope.names.keys() & before.keys():
            if after[name] is not scope.names[name]:
                scope.names[name] = Unknown(why)

    def _maybe(self, body: Iterable[Any], scope: Scope, why: str) -> None:
        self._conditions.append(why)
        self._block(body, scope)
        self._conditions.pop()

    def _loop(self, node: ast.For | ast.While, scope: Scope) -> _End | None:
        if isinstance(node, ast.While):
            self._maybe(node.body, scope, "a loop whose end is not known")
            return None
        items = self.value(node.iter, scope)
        if isinstance(items, Unknown):
            self.assign(node.target, items, scope)
            self._maybe(node.body, scope, items.why)
            return None
        for item in items:
            self.assign(node.target, item, scope)
            end = self._block(node.body, scope)
            if end is not None and end.kind is ast.Break:
                break
            if end is not None and end.kind is not ast.Continue:
                return end
        return None

    # --- calls ---

    def call(self, node: ast.Call, function: Any, scope: Scope) -> Any:
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if function is argparse.ArgumentParser:
            return self.parser
        if isinstance(owner, argparse._ActionsContainer) and name in _GROUPS:
            return function()
        adds = isinstance(owner, argparse._ActionsContainer) and name == "add_argument"
        positional = self.items(node.args, scope)
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if adds and keyword.arg is not None and keyword.arg not in _SHAPE:
                continue
            value = self.value(keyword.value, scope)
            if keyword.arg is None and not isinstance(value, dict):
                why = "keywords that the source does not tell"
                return self._lost(node, scope, why) if adds else Unknown(why)
            named.update(value if keyword.arg is None else {keyword.arg: value})
        if isinstance(function, Function):
            return positional if isinstance(positional, Unknown) else self._run(function, positional, named)
        if adds:
            if isinstance(positional, Unknown):
                return self._lost(node, scope, positional.why)
            return self._add(node, scope, function, positional, named)
        unknown = next((v for v in (positional, *named.values()) if isinstance(v, Unknown)), None)
        if unknown is not None or not _harmless(function, owner):
            return unknown or Unknown(f"{name or 'a call'} in {scope.module.name}, line {node.lineno}")
        return function(*positional, **named)

    def _run(self, function: Function, positional: list[Any], named: dict[str, Any]) -> Any:
        """Follow a function of the package, and return what it returns."""
        if self._depth >= DEPTH:
            return Unknown(f"{function.__name__} calls too deep")
        declared, scope = function.node.args, Scope(function.scope.module, function.scope)
        names = [argument.arg for argument in (*declared.posonlyargs, *declared.args)]
        given = ([function.owner] if function.owner is not None else []) + positional
        scope.names.update({name: Unknown(f"{name} of {function.__name__}") for name in names})
        with_default = names[len(names) - len(declared.defaults) :]
        for name, default in zip(with_default, declared.defaults):  # noqa: B905 - Python 3.8 has no strict
            scope.names[name] = self.value(default, function.scope)
        for argument, default in zip(declared.kwonlyargs, declared.kw_defaults):  # noqa: B905 - see above
            why = Unknown(f"{argument.arg} of {function.__name__}")
            scope.names[argument.arg] = why if default is None else self.value(default, function.scope)
        if declared.vararg is not None:
            scope.names[declared.vararg.arg] = tuple(given[len(names) :])
        if declared.kwarg is not None:
            known = {*names, *(argument.arg for argument in declared.kwonlyargs)}
            scope.names[declared.kwarg.arg] = {name: named[name] for name in named if name not in known}
        scope.names.update({**dict(zip(names, given)), **named})  # noqa: B905 - there may be fewer
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            end = self._block(function.node.body, scope)
        finally:
            self._depth -= 1
        return end.value if end is not None else None

    def _add(self, node: ast.Call, scope: Scope, add: Any, names: list[Any], named: dict[str, Any]) -> Any:
        """Register a flag; what is not known of it becomes a note."""
        notes = {part: value.why for part, value in named.items() if isinstance(value, Unknown) and part in _SHAPE}
        shape = {part: value for part, value in named.items() if part in _SHAPE and part not in notes}
        own = shape.get("action")
        if isinstance(own, Class):
            shape["action"] = next((root for root in own.roots() if issubclass(root, argparse.Action)), argparse.Action)
            if shape["action"] is argparse.Action:
                shape["action"], notes["action"] = "store", f"{own.name} is an action of the program's own"
        if self._conditions:
            notes["registered"] = self._conditions[-1]
        try:
            action = add(*names, **shape)
        except argparse.ArgumentError:
            for action in self.parser._actions:
                if not {*action.option_strings}.isdisjoint(names):
                    self.notes.setdefault(id(action), {})["registered"] = "in more than one way"
            return Unknown("registered before")
        except (TypeError, ValueError) as problem:
            return self._lost(node, scope, str(problem))
        if notes:
            self.notes[id(action)] = notes
        return action

    def _lost(self, node: ast.Call, scope: Scope, why: str) -> Unknown:
        self.unread.append(f"{scope.module.name}, line {node.lineno}: {why}")
        return Unknown(why)


def moved_to(package: Package, function: str) -> tuple[str, str] | None:
    """Return where a function that registers flags stands now: of those of its name, the one that registers the most.

    Args:
        package: The package that had it.
        function: Its name, behind that of the class it was in.

    Returns:
        The module and the name there, or None where no function of that name registers anything.
    """
    name, best, most = function.rpartition(".")[2], None, 0
    for module in package.files():
        path = package.file(module)
        for owner in ast.walk(parsed(path)) if path is not None else ():
            for node in owner.body if isinstance(owner, (ast.Module, ast.ClassDef)) else ():
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
                    count = len([call for call in calls if getattr(call, "attr", "") == "add_argument"])
                    if count > most:
                        inside = [owner.name] if isinstance(owner, ast.ClassDef) else []
                        best, most = (module, ".".join([*inside, name])), count
    return best


def _targets(node: ast.Assign | ast.AnnAssign) -> list[Any]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [] if node.value is None else [node.target]


def _harmless(function: Any, owner: Any) -> bool:
    """Whether calling a function only makes a value of its arguments."""
    if function in BUILTINS.values() or isinstance(owner, _PLAIN):
        return True
    library = getattr(function, "__module__", None)
    return library in ("math", "typing") or function in (LIBRARY["os"].getenv, LIBRARY["dataclasses"].field)
