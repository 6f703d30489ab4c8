"""What a name in a syntax tree stands for, seen through the file's imports."""

import ast
from collections.abc import Iterator


def imported(tree: ast.Module) -> dict[str, str]:
    """Map each name that an import binds to what it stands for: `from time import time as now` → now: time.time."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Give each imported module with its line, also those that are imported inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module


def uses(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Give each expression that names something imported, with its full dotted name; the longest, not its parts."""
    names = imported(tree)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner and (dotted := _dotted(node, names)):
            yield node, dotted


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value, names)
        return f"{before}.{node.attr}" if before else None
    return None
