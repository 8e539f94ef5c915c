"""Query the stored tables with DuckDB: one view per table with the valid rows; only SELECT is allowed."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from kvdiag.base.errors import InputError, UsageError
from kvdiag.fleet.places import Place, is_remote, scratch
from kvdiag.fleet.results import ROOT, TRIES, Result, Stored, read_lines, stored
from kvdiag.fleet.schema import COLUMNS, TABLES, table_of
from kvdiag.fleet.values import JOINED

MEMORY = "1GB"
EVER = ("", "9999-99-99")
"""All days."""
_OF_CLUSTER = ("joined", "judged")  # of all days of a cluster
# What a lead asks about: each root cause with the node that it hits, and each version with its node. A finding of a
# controller hits the node that it is about; one that only several nodes show hits each of them.
_VIEWS = {
    "hits": (
        ("findings", "joined"),
        """
  SELECT * EXCLUDE (nodes, node), coalesce(nullif(subject_node, ''), node) AS node, false AS across
  FROM findings WHERE role = 'cause'
  UNION ALL BY NAME
  SELECT * EXCLUDE (nodes, node, day, judged), ends::DATE AS day, true AS across,
    unnest(if(len(list_filter(nodes, lambda one: one <> '')) > 0, list_filter(nodes, lambda one: one <> ''),
      [subject_node])) AS node
  FROM joined WHERE role = 'cause'""",
    ),
    "node_versions": (
        ("versions",),
        """
  SELECT DISTINCT cluster, coalesce(nullif(log_node, ''), node) AS node, component, version
  FROM versions WHERE version <> ''""",
    ),
}


ALL = (*TABLES, *_VIEWS)


class Answer(NamedTuple):
    """Columns and rows of a result."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


class MergedError(UsageError):
    """A run that merged results deleted files that were listed before."""


class Questions:
    """A DuckDB connection with a view for each table; all times are UTC."""

    def __init__(
        self,
        dest: Place,
        cluster: str = "",
        tables: Collection[str] = ALL,
        days: tuple[str, str] = EVER,
        keys: Collection[str] = (),
    ) -> None:
        """Open the results of all clusters or of one, from a day to another, as these tables and views.

        With `keys`, files without one of these results are left out. Objects of a store are copied to a temporary
        folder.
        """
        self._db = duckdb.connect(config={"autoinstall_known_extensions": False})
        self._db.execute(f"SET TimeZone = 'UTC'; SET memory_limit = '{MEMORY}'; SET preserve_insertion_order = false")
        self._address, self._cluster, resources = dest.address, cluster, ExitStack()
        weakref.finalize(self, resources.close)
        self._copies = resources.enter_context(scratch())
        for left in reversed(range(TRIES)):
            try:
                if not (found := stored(dest, cluster)).results:
                    of_cluster = f" of the cluster {cluster}" * bool(cluster)
                    raise UsageError(f"{dest.address}: no results{of_cluster}; kvdiag fleet run … --out writes them")
                self._open(dest, found.files_with(keys) if keys else found, _needed(tables), days)
                break
            except (FileNotFoundError, MergedError):
                if not left:
                    raise
        folder = str(self._copies) if is_remote(dest.address) else dest.address
        self._db.execute(f"SET allowed_directories = [{_literal(folder.rstrip('/') + '/')}]")
        for view, (_, select) in _VIEWS.items():
            if view in tables:
                self._db.execute(f"CREATE VIEW {view} AS {select}")
        self._db.execute("SET enable_external_access = false; SET lock_configuration = true")  # no question undoes it

    def _open(self, dest: Place, found: Stored, tables: Collection[str], days: tuple[str, str]) -> None:
        rows = self._new_rows(dest, found.results, tables, days)
        dead = [[part.digest, key] for part in found.parts.values() for key in part.outdated]
        self._db.execute("CREATE OR REPLACE TABLE dead (part VARCHAR, result_key VARCHAR)")
        if dead:
            self._db.executemany("INSERT INTO dead VALUES (?, ?)", dead)
        for table in tables:
            first, last = EVER if table in _OF_CLUSTER else days
            paths: dict[tuple[bool, bool], list[str]] = defaultdict(list)
            for part in found.parts.values():
                if table in part.tables and first <= part.day <= last:
                    paths[part.columns != COLUMNS, bool(part.cluster)].append(part.path(table))
            files = {alike: dest.copy_all(of_these, self._copies) for alike, of_these in paths.items()}
            with self._as_merged():
                self._view(table, files, table_of(table, rows[table]), some_dead=bool(dead))

    def _new_rows(
        self, dest: Place, results: Sequence[Result], tables: Collection[str], days: tuple[str, str]
    ) -> Mapping[str, list[tuple[Mapping[str, str], list[bytes]]]]:
        """Return the rows of these tables and days that are not merged, by table."""
        rows: dict[str, list[tuple[Mapping[str, str], list[bytes]]]] = {table: [] for table in tables}
        first, last = days
        read = [one for one in results if one.bundle == JOINED or first <= one.day <= last]
        for one, of_result in read_lines(dest, read):
            for table in of_result.keys() & rows.keys():
                if table in _OF_CLUSTER or first <= one.day <= last:
                    rows[table].append(({"cluster": one.cluster, "day": one.day}, of_result[table]))
        return rows

    def _view(
        self, table: str, files: Mapping[tuple[bool, bool], Sequence[str]], new: pa.Table, *, some_dead: bool
    ) -> None:
        """Create the view of a table over new rows and files.

        Those of an older kvdiag may lack columns, and have their cluster in their paths.
        """
        schema = TABLES[table]
        self._db.register(f"new_{table}", new)
        columns = ", ".join(_name(name) for name in schema.names)
        parts = [f"SELECT {columns}, cluster, day::DATE AS day FROM {_name(f'new_{table}')}"]  # noqa: S608 (our names)
        for number, ((is_older, in_paths), paths) in enumerate(files.items()):
            empty = f"SELECT * REPLACE (day::DATE AS day) FROM {_name(f'new_{table}')} WHERE false"  # noqa: S608
            variable = f"{table}_{number}"  # a list of 1,500 files in the text of a view takes 0.3 s to parse
            self._db.execute(f"SET VARIABLE {variable} = ?", [list(paths)])
            of_path = "{'cluster': VARCHAR, 'day': DATE}" if in_paths else "{'day': DATE}"
            options = f"union_by_name = {is_older}, filename = true, hive_partitioning = true, hive_types = {of_path}"
            read = f"SELECT * FROM read_parquet(getvariable('{variable}'), {options})"  # noqa: S608 (our names)
            if some_dead:
                read += (
                    " WHERE (parse_filename(filename, true), result_key) NOT IN (SELECT (part, result_key) FROM dead)"
                )
            # the empty table adds columns that no file has yet
            parts.append(f"SELECT {columns}, cluster, day FROM ({empty} UNION ALL BY NAME {read})")  # noqa: S608
        every = " UNION ALL ".join(parts)
        of_cluster = f"SELECT * FROM ({every}) WHERE cluster = {_literal(self._cluster)}" if self._cluster else every  # noqa: S608
        self._db.execute(f"CREATE OR REPLACE VIEW {_name(table)} AS {of_cluster}")

    def keep(self, name: str, sql: str | pa.Table, **values: object) -> None:
        """Keep the result of a SELECT, or a table of another connection, under a name."""
        if isinstance(sql, str):
            with self._as_merged():
                self._db.execute(f"CREATE TEMP TABLE {_name(name)} AS {sql}", _used(sql, values))
        else:
            self._db.register(name, sql)

    def table(self, sql: str, **values: object) -> pa.Table:
        """Return the result of a SELECT of kvdiag as a table; `$name` in it is a value."""
        with self._as_merged():
            return self._db.sql(sql, params=_used(sql, values)).to_arrow_table()

    @contextmanager
    def _as_merged(self) -> Iterator[None]:
        """Raise MergedError for a file that is gone, and InputError for one that is damaged."""
        try:
            yield
        except duckdb.IOException as error:
            if f"/{ROOT}/" not in str(error):  # a file that the user named
                raise
            raise MergedError(
                f"{self._address}: a run merged the results meanwhile, or a file was deleted; try again ({error})"
            ) from None
        except duckdb.InvalidInputException as error:
            if "arquet" not in str(error):  # a question of a user that DuckDB does not take
                raise
            why = "delete its list in v2/parts, and the next run analyzes its bundles again"
            raise InputError(self._address, f"a part is damaged ({error}); {why}") from None

    def ask(self, sql: str, **values: object) -> Answer:
        """Return the result of a SELECT of kvdiag."""
        table = self.table(sql, **values)
        columns = [column.to_pylist() for column in table.columns]
        return Answer(tuple(table.column_names), list(zip(*columns, strict=True)))

    def ask_user(self, sql: str) -> Answer:
        """Return the result of a user's SELECT. Raise UsageError for anything else, or an error of DuckDB."""
        try:
            statements = duckdb.extract_statements(sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise UsageError("fleet sql: write one SELECT; results are read and never changed")
            return self.ask(sql)
        except duckdb.Error as error:
            raise UsageError(f"fleet sql: {error}") from None


def tables_of(sql: str) -> Sequence[str]:
    """Return the tables and views of the results that a user's SELECT names; all if it cannot be parsed."""
    try:
        named = duckdb.connect().get_table_names(sql)
    except duckdb.Error:
        return ALL
    return [table for table in ALL if table in named]


def _needed(tables: Collection[str]) -> Sequence[str]:
    """Return the stored tables among these, and those that the views among them need."""
    needed = {*tables, *(table for view, (needs, _) in _VIEWS.items() if view in tables for table in needs)}
    return [table for table in TABLES if table in needed]


def _used(sql: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return the values that a SELECT names: DuckDB refuses others."""
    return {name: value for name, value in values.items() if f"${name}" in sql}


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
