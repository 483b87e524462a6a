"""Turns declarations into functions that check a decoded JSON value (dependencies §1.2).

The rules are those of `protocol.types`: enumerations and unions are open unless declared closed, unknown members pass,
`null` counts as absent, a boolean is no number, an integer has no fraction. A check reads, never changes, and stops at
the first fault.

A declaration becomes Python source once, when it is first needed; the variants of a union wait until their tag is seen.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from innkeeper.protocol.types import Closed, NotRequired, Open, ReadOnly, Required

Check: TypeAlias = Callable[[object], None]

_KINDS: Final = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
    tuple: "array",
    NoneType: "nothing",
}
_EXPECTED: Final = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
_LONGEST_KEY: Final = 64


class CheckError(ValueError):
    """A value that is not what is declared. The text is safe to send: it names places and kinds, never a value."""

    def __init__(self, expected: str, got: object, *steps: str | int) -> None:
        super().__init__()
        self._steps = list(steps)
        self.expected = expected
        """What is declared, in words: `string`, `integer`, `"a" or "b"`."""
        self.got: str = _KINDS.get(type(got), "something else")
        """The kind of what was there: `string`, `number`, …, `nothing`."""
        self.root = ""

    def enter(self, step: str | int) -> None:
        """Says that the fault is below this member or index."""
        self._steps.append(step)

    @property
    def path(self) -> str:
        """Where: `action.part.toolCall.toolCallId`, `params.protocolVersions[2]`."""
        text = self.root
        for step in reversed(self._steps):
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{step[:_LONGEST_KEY]}" if text else step[:_LONGEST_KEY]
        return text

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}" if self.path else f"expected {self.expected}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How an incoming object may differ from its declaration: members that may be missing, members of older peers."""

    why: str
    optional: AbstractSet[str] = frozenset()
    also: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Inline:
    """A check that is one condition, written for a variable of a given name; None when everything passes."""

    bad: Callable[[str], str] | None
    expected: str

    def line(self, name: str, *steps: str) -> str:
        """Source that raises for a bad value; nothing when everything passes."""
        if self.bad is None:
            return ""
        return f"if {self.bad(name)}: raise fail({', '.join([repr(self.expected), name, *steps])})"


class Compiler:
    """Makes and keeps the checks of one set of tolerances, keyed by declaration."""

    def __init__(self, tolerated: Mapping[object, Tolerance]) -> None:
        self._tolerated = tolerated
        self._names: dict[object, str] = {}
        self._space: dict[str, Any] = {"fail": CheckError}

    def check_for(self, declared: object) -> Check:
        """The function that raises `CheckError` unless its argument is what is declared."""
        name = self._names.get(declared) or self._define(declared)
        check: Check = self._space[name]
        return check

    def _define(self, declared: object) -> str:
        """Compiles a declaration; its name is known first, so that declarations may contain themselves."""
        name = f"check_{len(self._names)}"
        self._names[declared] = name
        lines = [f"def {name}(v):", *("    " + line for line in self._body(declared))]
        exec(compile("\n".join(lines), f"<check of {_title(declared)}>", "exec"), self._space)
        return name

    def _body(self, declared: object) -> list[str]:
        if is_typeddict(declared):
            return self._object_body(declared)
        plan = self._plan(declared, nested=False)
        if isinstance(plan, list):
            return plan
        return [plan.line("v") or "pass"]

    def _object_body(self, declared: Any) -> list[str]:
        """Required members are fetched first, together: an absent one becomes None and fails like any other value."""
        members = {key: bare(hint) for key, hint in get_type_hints(declared, include_extras=True).items()}
        optional = set(declared.__optional_keys__)
        tolerance = self._tolerated.get(declared)
        if tolerance is not None:
            members |= tolerance.also
            optional |= tolerance.optional | set(tolerance.also)
        required = {key: f"x{number}" for number, key in enumerate(members) if key not in optional}
        lines = ["if type(v) is not dict: raise fail('object', v)"]
        if required:
            lines += ["try:", *(f"    {name} = v[{key!r}]" for key, name in required.items())]
            lines += ["except KeyError:", *(f"    {name} = v.get({key!r})" for key, name in required.items())]
        for key, name in required.items():
            lines += self._member(key, members[key], name)
        for key in [key for key in members if key in optional]:
            body = self._member(key, members[key], "x")
            if body:
                lines += [f"if {key!r} in v:", f"    x = v[{key!r}]", "    if x is not None:"]
                lines += ["        " + line for line in body]
        return lines

    def _member(self, key: str, declared: object, name: str) -> list[str]:
        plan = self._plan(declared)
        if isinstance(plan, _Inline):
            if plan.bad is None and name != "x":
                return [f"if {name} is None: raise fail({plan.expected!r}, {name}, {key!r})"]
            return [line] if (line := plan.line(name, repr(key))) else []
        return [f"try: {plan}({name})", "except fail as error:", f"    error.enter({key!r})", "    raise"]

    def _call(self, declared: object) -> str:
        return self._names.get(declared) or self._define(declared)

    def _plan(self, declared: object, nested: bool = True) -> Any:
        """An `_Inline`, or for what needs a function its name (`nested`), else its body."""
        inline = _inline(declared)
        if inline is not None:
            return inline
        if nested:
            return self._call(declared)
        arguments = get_args(declared)
        origin = get_origin(declared)
        if origin is Sequence:
            return self._array_body(arguments[0])
        if origin is Mapping:
            return self._map_body(arguments[1])
        if origin is Annotated:
            return self._union_body(arguments[0], arguments[1])
        if origin in (Union, UnionType):
            return self._union_body(declared, None)
        raise TypeError(f"no check for {declared!r}")

    def _array_body(self, item: object) -> list[str]:
        return [
            "if type(v) is not list and type(v) is not tuple: raise fail('array', v)",
            *self._items("enumerate(v)", item),
        ]

    def _map_body(self, item: object) -> list[str]:
        return ["if type(v) is not dict: raise fail('object', v)", *self._items("v.items()", item)]

    def _items(self, source: str, item: object) -> list[str]:
        plan = self._plan(item)
        if isinstance(plan, _Inline):
            return [f"for i, x in {source}:", "    " + line] if (line := plan.line("x", "i")) else []
        return [
            "i = 0",
            "try:",
            f"    for i, x in {source}: {plan}(x)",
            "except fail as error:",
            "    error.enter(i)",
            "    raise",
        ]

    def _union_body(self, declared: object, mark: object) -> list[str]:
        scalars, objects = _split(declared)
        expected = " or ".join([*(_EXPECTED[scalar] for scalar in scalars), *(["object"] if objects else [])])
        lines = [f"if {_not_any(scalars, 'v')}:"] if scalars else ["if True:"]
        tag, table = self._variants(objects, mark)
        lines.append(f"    if type(v) is not dict: raise fail({expected!r}, v)")
        if tag is None:
            return [*lines, f"    {self._call(objects[0])}(v)"] if len(objects) == 1 else lines
        kind = type(next(iter(table.shapes)))
        return [
            *lines,
            f"    t = v.get({tag!r})",
            f"    if type(t) is not {kind.__name__}: raise fail({_EXPECTED[kind]!r}, t, {tag!r})",
            f"    {self._constant(table)}[t](v)",
        ]

    def _variants(self, objects: Sequence[Any], mark: object) -> tuple[str | None, "Variants"]:
        closed = mark is Closed
        if isinstance(mark, Open):
            return mark.tag, Variants(self, _group(objects, mark.tag), mark.tag, closed)
        tag = _tag(objects)
        return tag, Variants(self, _group(objects, tag) if tag else {}, tag or "", closed)

    def _constant(self, value: object) -> str:
        name = f"table_{len(self._space)}"
        self._space[name] = value
        return name


class Variants(dict[object, Check]):
    """The checks of variants by tag, each compiled when first seen. An unknown tag passes unless `closed`."""

    def __init__(self, compiler: Compiler, shapes: Mapping[Any, object], tag: str = "", closed: bool = False) -> None:
        super().__init__()
        self._compiler = compiler
        self.shapes = shapes
        self._tag = tag
        self._closed = closed

    def __missing__(self, tag: object) -> Check:
        shape = self.shapes.get(tag)
        if shape is not None:
            self[tag] = check = self._compiler.check_for(shape)
            return check
        if self._closed:
            raise CheckError(_choices(self.shapes), tag, self._tag)
        return _pass


def _pass(value: object) -> None:
    """Accepts an unknown variant."""


def _inline(declared: object) -> _Inline | None:
    """The condition for scalars, literals and free objects; None for what needs a function."""
    if declared is object:
        return _Inline(None, "a value")
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Literal:
        return _inline_literal(arguments)
    if origin is Mapping and arguments == (str, object):
        return _Inline(lambda name: f"type({name}) is not dict", "object")
    scalars, objects = _split(declared)
    if objects:
        return None
    return _Inline(lambda name: _not_any(scalars, name), " or ".join(_EXPECTED[scalar] for scalar in scalars))


def _inline_literal(values: tuple[Any, ...]) -> _Inline:
    expected = _choices(values)
    if all(type(value) is bool for value in values):
        return _Inline(lambda name: " and ".join(f"{name} is not {value}" for value in values), expected)
    if len(values) == 1:
        return _Inline(lambda name: f"{name} != {values[0]!r}", expected)
    return _Inline(lambda name: f"{name} not in {values!r}", expected)


def _not_any(scalars: Sequence[type], variable: str) -> str:
    kinds = [int, *scalars] if float in scalars and int not in scalars else list(scalars)
    return " and ".join(
        f"{variable} is not None" if kind is NoneType else f"type({variable}) is not {kind.__name__}" for kind in kinds
    )


def _split(declared: object) -> tuple[list[type], list[Any]]:
    """The scalar types and the objects of a union. A literal beside `str` says what is known and adds nothing."""
    scalars: list[type] = []
    objects: list[Any] = []
    for part in parts(declared):
        if get_origin(part) is Literal:
            scalars += [type(value) for value in get_args(part)]
        elif isinstance(part, type) and part in _EXPECTED:
            scalars.append(part)
        else:
            objects.append(part)
    return list(dict.fromkeys(scalars)), objects


def parts(declared: object) -> list[object]:
    """The members of a union, and of the unions in it; a list of one for anything else."""
    origin = get_origin(declared)
    if origin is Annotated:
        return parts(get_args(declared)[0])
    if origin in (Union, UnionType):
        return [part for argument in get_args(declared) for part in parts(argument)]
    return [declared]


def _tag(objects: Sequence[Any]) -> str | None:
    """The member that tells the variants apart: a literal in each, with as many values as possible."""
    tags = [literals(variant) for variant in objects]
    shared = [key for key in tags[0] if all(key in others for others in tags)] if len(tags) > 1 else []
    return max(shared, key=lambda key: len({value for others in tags for value in others[key]}), default=None)


def literals(variant: Any) -> dict[str, tuple[object, ...]]:
    """The required members of a TypedDict that can tell it from others, with the values they may have."""
    if not is_typeddict(variant):
        return {}
    hints = get_type_hints(variant, include_extras=True)
    members = {key: bare(hints[key]) for key in hints if key in variant.__required_keys__}
    return {key: get_args(member) for key, member in members.items() if get_origin(member) is Literal}


def _group(objects: Sequence[Any], tag: str) -> dict[object, Any]:
    """The shape behind each value of the tag: a variant, or a smaller union."""
    groups: dict[object, list[Any]] = {}
    for variant in objects:
        for value in literals(variant)[tag]:
            groups.setdefault(value, []).append(variant)
    return {value: reduce(or_, variants) for value, variants in groups.items()}


def bare(declared: object) -> object:
    """A member's type without what is said about the member."""
    while get_origin(declared) in (ReadOnly, NotRequired, Required):
        declared = get_args(declared)[0]
    return declared


def _choices(values: Iterable[object]) -> str:
    texts = [f'"{value}"' if isinstance(value, str) else str(value).lower() for value in values]
    return " or ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _title(declared: object) -> str:
    return getattr(declared, "__name__", None) or str(declared)
