"""Checks JSON against the part of JSON Schema that docs/schemas uses, and against no other."""

import json
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
KNOWN = {
    "$schema", "$defs", "$ref", "title", "description", "type", "properties", "required",
    "additionalProperties", "items", "prefixItems", "minItems", "maxItems", "minimum", "anyOf",
    "oneOf", "const",
}  # fmt: skip


def schema_of(name: str) -> dict:
    """The schema of what a command prints."""
    return json.loads((SCHEMAS / f"{name}.json").read_text())


def misfits(name: str, value: Any) -> list[str]:
    """Where a value is not as a command prints it."""
    schema = schema_of(name)
    return faults(value, schema, schema)


def faults(value: Any, schema: dict, whole: dict, at: str = "$") -> list[str]:
    """Where a value is not as a schema says."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema:
        name = schema["$ref"]
        if name.endswith(".json"):
            other = schema_of(name.removesuffix(".json"))
            return faults(value, other, other, at)
        return faults(value, whole["$defs"][name.removeprefix("#/$defs/")], whole, at)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            tried = [faults(value, one, whole, at) for one in schema[several]]
            fitting = sum(not found for found in tried)
            is_well = fitting == 1 if several == "oneOf" else fitting >= 1
            return [] if is_well else [f"{at}: {fitting} of {several} fit: {tried}"]
    if "const" in schema:
        return [] if value == schema["const"] else [f"{at}: {value!r} is not {schema['const']!r}"]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) for name in types) or (
        isinstance(value, bool) and "boolean" not in types
    ):
        return [f"{at}: {value!r} is none of {types}"]
    return within(value, schema, whole, at)


def within(value: Any, schema: dict, whole: dict, at: str) -> list[str]:
    """Where what is in a value of the right type is not as a schema says."""
    found = []
    if isinstance(value, dict):
        properties = schema["properties"]
        found += [f"{at}: no {name}" for name in schema["required"] if name not in value]
        found += [f"{at}: {name} is not in the schema" for name in value if name not in properties]
        for name in value.keys() & properties.keys():
            found += faults(value[name], properties[name], whole, f"{at}.{name}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
        first = schema.get("prefixItems", [])
        for place, item in enumerate(value):
            of = first[place] if place < len(first) else schema["items"]
            found += faults(item, of, whole, f"{at}[{place}]")
    if isinstance(value, int) and value < schema.get("minimum", value):
        found.append(f"{at}: {value} is less than {schema['minimum']}")
    return found
