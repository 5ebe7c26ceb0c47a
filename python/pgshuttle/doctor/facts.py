"""What pgshuttle doctor looks at; read reads it."""

from dataclasses import dataclass, field


@dataclass
class ServerFacts:
    """What is known of one PostgreSQL server; a part that could not be read stays empty."""

    settings: dict[str, str] = field(default_factory=dict)
    collation: str = ""
    collation_version: str = ""
    extensions: dict[str, str] = field(default_factory=dict)
    time_zones: str = ""  # a digest of the names and offsets

    @property
    def major(self) -> int:
        """The major version; 0 if it is not known."""
        return int(self.settings.get("server_version_num", "0")) // 10000


@dataclass
class TableFacts:
    """A foreign table, and how many rows both sides believe it to have; below 0: not known."""

    name: str
    rows_here: float
    rows_there: float | None
    root: str = ""  # the partitioned table above; empty: none


@dataclass(frozen=True)
class ColumnFacts:
    """A column of a foreign table, or of the relation behind it."""

    name: str
    remote_name: str  # by which the other side knows it
    type: str  # as it is printed here
    base: str  # without schema, length, or domain
    collation: str  # quoted, with its schema; empty: none; "default": that of the database
    not_null: bool
    generated: str  # "s": stored, "v": virtual, empty: not at all
    has_type: bool  # the other side has the type, too
    required: bool  # an INSERT must give it a value
    identity: str  # "a": always, "d": by default, empty: not at all
    is_key: bool  # a part of the primary key there


@dataclass(frozen=True)
class ExpressionFacts:
    """What a generated column is computed by, by the names that each side has for columns.

    Empty: it is not generated on that side, or what the node says means nothing here.
    """

    own_here: str = ""
    own_there: str = ""
    other_here: str = ""
    other_there: str = ""
    other_text: str = ""  # as the node says it


@dataclass(frozen=True)
class KeyFacts:
    """A unique index of all rows behind a foreign table; columns by their names here."""

    columns: tuple[str, ...]
    is_primary: bool
    is_immediate: bool = True  # not deferrable: ON CONFLICT takes it
    nulls_equal: bool = False  # NULLS NOT DISTINCT


@dataclass(frozen=True)
class CheckFacts:
    """A check constraint of a node."""

    name: str
    text: str
    columns: frozenset[str]
    is_valid: bool = True  # of the rows that are there, too, and not only of new ones


@dataclass(frozen=True)
class RuleFacts:
    """An exclusion constraint or a trigger of a node that may refuse or change rows."""

    name: str
    text: str
    is_trigger: bool = False


@dataclass
class BoundFacts:
    """The bounds of a foreign partition, and the constraints behind it."""

    values: str  # FOR VALUES ...
    make_check: str = ""  # statement of the node that keeps other rows out; empty: not known
    refused_by: list[str] = field(default_factory=list)  # constraints: of all rows
    narrowed_by: list[str] = field(default_factory=list)  # of some rows, perhaps
    parent: str = ""  # of which it is a partition there, with bounds that refuse rows
    can_attach: bool = False  # to that, with the bounds here
    is_kept: bool = True  # the node takes no other rows


@dataclass
class AccessFacts:
    """What the remote user may not do with a relation that this user may do here."""

    lacks: dict[str, list[str]]  # privileges, and the columns there; no columns: of the whole
    may_write: bool  # in some way
    has_schema: bool  # may use it
    hides_rows: bool  # by row security
    sequences: list[str] = field(default_factory=list)  # that new rows need, quoted


@dataclass
class RelationFacts:
    """A foreign table and the relation behind it."""

    name: str
    local_name: str  # with its schema, quoted
    remote: tuple[str, str]  # its schema and its name
    remote_name: str  # the same, quoted
    is_part: bool  # a partition or child: its columns are those of another table
    root: str  # the partitioned table above; empty: none
    columns: list[ColumnFacts] = field(default_factory=list)
    there: list[ColumnFacts] | None = None  # None: there is no such relation
    has_schema: bool = True  # the node has
    kind: str = ""  # relkind of what has its name there; empty: nothing has
    renamed: tuple[str, str] | None = None  # schema and name of what it may be there, then
    empty: str = ""  # how it is partitioned there, if it has no partitions
    rules: list[RuleFacts] = field(default_factory=list)  # if it is a partition here
    expressions: dict[str, ExpressionFacts] = field(default_factory=dict)  # by names here
    defaults: dict[str, str] = field(default_factory=dict)  # of the node, by names there
    keys: list[KeyFacts] | None = None  # None: no table is there, which could have keys
    lacks_key: bool = False  # there is no key at all, also not of columns that are not here
    never_null: set[str] = field(default_factory=set)  # by the bounds; names here
    bound: BoundFacts | None = None
    checks: list[CheckFacts] | None = None  # but those of bounds; None: not known
    access: AccessFacts | None = None  # None: the remote user may do all


@dataclass(frozen=True)
class TypeDefinition:
    """An enum, a domain or a composite type of one side."""

    oid: int
    kind: str  # typtype: "e", "d" or "c"
    parts: list[tuple[str, str]]  # labels; attributes and their types
    base: str  # of a domain; empty: this side does not have it
    not_null: bool
    checks: dict[str, str] | None  # texts and names; None: not known


@dataclass(frozen=True)
class TypeFacts:
    """A type that both sides have by the same name."""

    schema: str
    name: str
    quoted: str  # with its schema
    here: TypeDefinition
    there: TypeDefinition
    columns: list[tuple[str, str]]  # that have it on the node: tables, quoted, and names


@dataclass
class StorageFacts:
    """A node that holds tables which are spread."""

    may_look: bool = True
    refusal: str = ""  # what shuttle.use_node() says
    hint: str = ""
    power: str = "ok"  # what the remote user may do beyond databases
    advice: str = ""  # on it
    remote_user: str = ""
    closed_schemas: str = ""  # in which the remote user may create nothing; quoted
    problems: list[tuple[str, str]] = field(default_factory=list)  # and hints, of shuttle.check()


@dataclass
class NodeFacts:
    """A foreign server: how it is defined here, and what is behind it."""

    name: str
    wrapper: str
    may_use: bool
    has_mapping: bool
    shipped_extensions: list[str]
    error: str = ""
    round_trip_ms: float | None = None
    server: ServerFacts = field(default_factory=ServerFacts)
    tables: list[TableFacts] = field(default_factory=list)
    relations: list[RelationFacts] = field(default_factory=list)
    storage: StorageFacts | None = None
    types: list[TypeFacts] = field(default_factory=list)
    remote_user: str = ""  # as whom this user comes there; empty: not known
    follows_primary: bool = False  # several hosts, and target_session_attrs wants the primary
    planned_trip_ms: float | None = None  # what plans are made for
    trip_cost: str = ""  # the server's shuttle_round_trip_cost, which goes before


@dataclass(frozen=True)
class StandbyFacts:
    """A standby that is a query node, as it knows itself, or as the primary server knows it."""

    name: str
    is_connected: bool = True
    is_paused: bool = False  # replays nothing
    lag_seconds: float = 0.0
    lease_seconds: float = 0.0
    has_feedback: bool = True  # hot_standby_feedback


@dataclass
class Facts:
    """All that the doctor looks at."""

    query: ServerFacts
    user: str
    is_superuser: bool
    is_standby: bool
    has_files: str  # version of the extension that could be created; empty: none
    load_error: str
    was_loaded: bool
    nodes: list[NodeFacts]
    partitioned: list[str] = field(default_factory=list)  # tables with partitions on nodes
    used_extensions: list[str] = field(default_factory=list)  # by types of columns
    not_compared: str = ""  # why tables on nodes were not compared
    unknown_parents: list[str] = field(default_factory=list)  # never analyzed as a whole
    standbys: list[StandbyFacts] = field(default_factory=list)  # that are query nodes
