"""The transactions of TPC-C as functions and procedures."""

from psycopg import sql

from pgshuttle.base.connections import Connection
from pgshuttle.bench.tpcc.statements import PLACE, TRANSACTIONS, Kind, Step, Style

# kits for TPC-C have the whole body in one block with EXCEPTION
ROUTINE = """
CREATE {kind} {{s}}.{name}({parameters}){returns} LANGUAGE plpgsql AS $$
DECLARE
    {variables}
BEGIN
    {steps}
    {end}
EXCEPTION WHEN serialization_failure OR deadlock_detected OR no_data_found THEN
    RAISE;
END $$"""


def write_step(one: Step) -> str:
    text = one.text
    if one.into:
        text += " INTO " + ", ".join(f":{name}" for name in one.into.split())
    text += ";"
    if one.unless_null:
        text = f"IF :{one.unless_null} IS NOT NULL THEN {text} END IF;"
    if one.equal:
        left, right = one.equal
        text += f" IF :{left} IS DISTINCT FROM :{right} THEN RAISE no_data_found; END IF;"
    return PLACE.sub(r"v_\1", text)


def write_routine(kind: Kind, style: Style) -> str:
    """Writes CREATE FUNCTION, or CREATE PROCEDURE with a last parameter for what is returned."""
    made = TRANSACTIONS[kind]
    is_function = style is Style.FUNCTIONS
    parameters = [f"v_{name} {of_type}" for name, of_type in made.parameters.items()]
    variables = dict(made.variables)
    if not is_function:
        parameters.append(f"INOUT v_{made.result} {variables.pop(made.result)}")
    return ROUTINE.format(
        kind="FUNCTION" if is_function else "PROCEDURE",
        name=kind,
        parameters=", ".join(parameters),
        returns=f" RETURNS {variables[made.result]}" if is_function else "",
        variables=" ".join(f"v_{name} {of_type};" for name, of_type in variables.items()),
        steps="\n    ".join(write_step(one) for one in made.steps),
        end=f"RETURN v_{made.result};" if is_function else "",
    )


def make_routines(connection: Connection, schema: str, style: Style) -> None:
    for kind in Kind:
        create = sql.SQL(write_routine(kind, style)).format(s=sql.Identifier(schema))
        connection.execute(create)


def distribute_routines(connection: Connection, schema: str) -> None:
    """Lets nodes execute the functions or procedures of a schema, by the warehouse."""
    connection.execute(
        """
        SELECT shuttle.distribute_function(oid, '$1', %s) FROM pg_proc
        WHERE pronamespace = %s::regnamespace""",
        [f"{schema}.warehouse", schema],
    )
