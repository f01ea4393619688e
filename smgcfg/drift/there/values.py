"""Expressions of a source file to plain values, as far as the source alone tells them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

from .names import Class, Function, Module, Package, Scope, Unknown

#: Nodes looked at before the reading gives up: the parser of TokenSpeed 0.1.1 takes 1,600.
LIMIT = 1000000

_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitOr: operator.or_, ast.BitAnd: operator.and_, ast.BitXor: operator.xor,
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items, ast.NotIn: lambda item, items: item not in items,
}  # fmt: skip


class Values:
    """Makes the values of expressions.

    Args:
        package: The package that the source is of.
    """

    def __init__(self, package: Package) -> None:
        self.package = package
        self._steps = 0

    def module(self, name: str) -> Any:
        """Return a module of the package."""
        return Unknown(f"{name} is not read")

    def call(self, node: ast.Call, function: Any, scope: Scope) -> Any:
        """Return what a call of a known function gives."""
        return Unknown("a call")

    def value(self, node: Any, scope: Scope) -> Any:
        """Return the value of an expression; `Unknown` where the source alone does not tell it."""
        self._steps += 1
        make = getattr(self, "_" + type(node).__name__.lower(), None)
        if make is None or self._steps > LIMIT:
            return Unknown(f"{type(node).__name__} in {scope.module.name}, line {getattr(node, 'lineno', 0)}")
        try:
            return make(node, scope)
        except Exception as problem:  # the program itself would fail here, or does what only a run can tell
            return Unknown(f"{type(problem).__name__} in {scope.module.name}, line {getattr(node, 'lineno', 0)}")

    # --- names and attributes ---

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        return scope.find(node.id)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return self.member(self.value(node.value, scope), node.attr)

    def member(self, owner: Any, name: str) -> Any:
        """Return an attribute of a value: a module, a class, or something plain."""
        if isinstance(owner, Unknown):
            return owner
        if isinstance(owner, Module):
            below = f"{owner.name}.{name}"
            return owner.own(name) if name in owner.names else self.module(below)
        if isinstance(owner, Class):
            return owner.find(name)
        if name.startswith("__") or isinstance(owner, Function):
            return Unknown(f"{name} of {owner!r}")
        return getattr(owner, name)

    def item(self, owner: Any, key: Any) -> Any:
        """Return an item of a value."""
        if isinstance(owner, Unknown) or isinstance(key, Unknown):
            return owner if isinstance(owner, Unknown) else key
        return owner[key]

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        return self.item(self.value(node.value, scope), self.value(node.slice, scope))

    def _index(self, node: Any, scope: Scope) -> Any:
        return self.value(node.value, scope)  # Python 3.8 wraps what stands in the brackets

    def _slice(self, node: ast.Slice, scope: Scope) -> Any:
        bounds = [None if part is None else self.value(part, scope) for part in (node.lower, node.upper, node.step)]
        return _unknown(bounds) or slice(*bounds)

    # --- what is put together ---

    def items(self, nodes: list[Any], scope: Scope) -> Any:
        """Return the values of the items of a list, those behind a star too; `Unknown` where one of them is."""
        made: list[Any] = []
        for node in nodes:
            value = self.value(node.value if isinstance(node, ast.Starred) else node, scope)
            if isinstance(value, Unknown):
                return value
            made += list(value) if isinstance(node, ast.Starred) else [value]
        return made

    def _list(self, node: ast.List, scope: Scope) -> Any:
        return self.items(node.elts, scope)

    def _tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        made = self.items(node.elts, scope)
        return made if isinstance(made, Unknown) else tuple(made)

    def _set(self, node: ast.Set, scope: Scope) -> Any:
        made = self.items(node.elts, scope)
        return made if isinstance(made, Unknown) else set(made)

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):  # noqa: B905 - Python 3.8 has no strict
            # A value that is not known leaves the others as they are; a key that is not could be any of them.
            entry = self.value(value, scope)
            name = None if key is None else self.value(key, scope)
            if isinstance(name, Unknown) or (key is None and not isinstance(entry, dict)):
                return Unknown("keys that the source does not tell")
            made.update(entry if key is None else {name: entry})
        return made

    def _joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts = [self.value(part, scope) for part in node.values]
        return _unknown(parts) or "".join(parts)

    def _formattedvalue(self, node: ast.FormattedValue, scope: Scope) -> Any:
        value = self.value(node.value, scope)
        style = "" if node.format_spec is None else self.value(node.format_spec, scope)
        if node.conversion != -1:
            return Unknown("a converted value in a text")
        return _unknown([value, style]) or format(value, style)

    def _listcomp(self, node: Any, scope: Scope) -> Any:
        inner = Scope(scope.module, scope)
        made = []
        for known in self._rounds(node.generators, inner):
            value = known if isinstance(known, Unknown) else self.value(node.elt, inner)
            if isinstance(value, Unknown):
                return value
            made.append(value)
        return made

    _generatorexp = _listcomp

    def _setcomp(self, node: ast.SetComp, scope: Scope) -> Any:
        made = self._listcomp(node, scope)
        return made if isinstance(made, Unknown) else set(made)

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> Any:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        made = self._listcomp(ast.ListComp(pair, node.generators), scope)
        return made if isinstance(made, Unknown) else dict(made)

    def _rounds(self, generators: list[ast.comprehension], inner: Scope) -> Iterator[Any]:
        """Set the names of a comprehension, round by round; yields `Unknown` where a round is not known."""
        if not generators:
            yield True
            return
        first, *others = generators
        items = self.value(first.iter, inner)
        if isinstance(items, Unknown):
            yield items
            return
        for item in items:
            self.assign(first.target, item, inner)
            tests = [self.value(test, inner) for test in first.ifs]
            if _unknown(tests):
                yield _unknown(tests)
            elif all(tests):
                yield from self._rounds(others, inner)

    def assign(self, target: Any, value: Any, scope: Scope) -> None:
        """Give a value to what stands left of "="."""
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for at, item in enumerate(target.elts):
                self.assign(item, self.item(value, at), scope)
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value, scope), self.value(target.slice, scope)
            if isinstance(owner, (dict, list)) and not isinstance(key, Unknown):
                owner[key] = value

    # --- operators ---

    def apply(self, sign: ast.AST, *operands: Any) -> Any:
        """Return what an operator makes of its operands."""
        return _unknown(list(operands)) or _OPERATORS[type(sign)](*operands)

    def _binop(self, node: ast.BinOp, scope: Scope) -> Any:
        return self.apply(node.op, self.value(node.left, scope), self.value(node.right, scope))

    def _unaryop(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return self.apply(node.op, self.value(node.operand, scope))

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.value(node.left, scope)
        for sign, right_node in zip(node.ops, node.comparators):  # noqa: B905 - Python 3.8 has no strict
            right = self.value(right_node, scope)
            holds = self.apply(sign, left, right)
            if isinstance(holds, Unknown) or not holds:
                return holds
            left = right
        return True

    def _boolop(self, node: ast.BoolOp, scope: Scope) -> Any:
        value: Any = None
        for operand in node.values:
            value = self.value(operand, scope)
            if isinstance(value, Unknown) or bool(value) is isinstance(node.op, ast.Or):
                return value
        return value

    def _ifexp(self, node: ast.IfExp, scope: Scope) -> Any:
        test = self.value(node.test, scope)
        return test if isinstance(test, Unknown) else self.value(node.body if test else node.orelse, scope)

    # --- functions ---

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return Function(node, scope)

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        function = self.value(node.func, scope)
        return function if isinstance(function, Unknown) else self.call(node, function, scope)


def _unknown(values: list[Any]) -> Any:
    """Return the first of the values that is `Unknown`, or None."""
    return next((value for value in values if isinstance(value, Unknown)), None)
