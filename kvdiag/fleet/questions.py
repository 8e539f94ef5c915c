"""Query the stored tables with DuckDB: one view per table with the valid rows; only SELECT is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from kvdiag.base.errors import UsageError
from kvdiag.fleet.places import Place, is_remote
from kvdiag.fleet.results import stored
from kvdiag.fleet.schema import OF_ALL, TABLES

_TYPES = {
    "text": "VARCHAR",
    "time": "TIMESTAMPTZ",
    "number": "BIGINT",
    "flag": "BOOLEAN",
    "texts": "VARCHAR[]",
    "names": "STRUCT(kind VARCHAR, value VARCHAR)[]",
    "gaps": "STRUCT(begins TIMESTAMPTZ, ends TIMESTAMPTZ, why VARCHAR, component VARCHAR)[]",
}
_PATHS = "hive_partitioning = true, hive_types = {'cluster': VARCHAR, 'day': DATE}, union_by_name = false"
MEMORY = "1GB"


class Answer(NamedTuple):
    """Columns and rows of a result."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


class Questions:
    """A DuckDB connection with a view for each table; all times are UTC."""

    def __init__(self, dest: Place, cluster: str = "", tables: Sequence[str] = tuple(TABLES)) -> None:
        """Open the results of all clusters or of one."""
        self._db = duckdb.connect(config={"autoinstall_known_extensions": False})
        self._db.execute(f"SET TimeZone = 'UTC'; SET memory_limit = '{MEMORY}'")
        if is_remote(dest.address):
            from kvdiag.fleet.remote import file_system

            self._db.register_filesystem(file_system(dest.address))
        found = stored(dest, cluster, tables)
        self._db.execute("CREATE TABLE dead (result_key VARCHAR)")
        if found.dead:
            self._db.execute("INSERT INTO dead SELECT unnest($1::VARCHAR[])", [sorted(found.dead)])
        for table in tables:
            self._view(table, [f"{dest.address.rstrip('/')}/{path}" for path in found.files[table]], bool(found.dead))
        folder = _literal(f"{dest.address.rstrip('/')}/")
        self._db.execute(f"SET allowed_directories = [{folder}]; SET enable_external_access = false")
        self._db.execute("SET lock_configuration = true")  # a question cannot undo it

    def _view(self, table: str, files: Sequence[str], some_dead: bool) -> None:  # noqa: FBT001 (of one caller)
        if files:
            listed = ", ".join(_literal(file) for file in files)
            read = f"SELECT * FROM read_parquet([{listed}], {_PATHS})"  # noqa: S608 (literals of our own)
            if some_dead and table != "failed":
                read += " WHERE result_key NOT IN (FROM dead)"
        else:
            columns = {**OF_ALL, **TABLES[table]}
            typed = [f"NULL::{_TYPES[word]} AS {_name(name)}" for name, word in columns.items()]
            read = f"SELECT {', '.join(typed)}, NULL::VARCHAR AS cluster, NULL::DATE AS day WHERE false"
        self._db.execute(f"CREATE VIEW {_name(table)} AS {read}")

    def ask(self, sql: str, values: Sequence[object] = ()) -> Answer:
        """Return the result of a SELECT of kvdiag."""
        table = self._db.sql(sql, params=list(values)).to_arrow_table()
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


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
