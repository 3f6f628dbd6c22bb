"""Reading a database with SQLAlchemy: read-only, and untyped (the driver's own values)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from schemas.errors import SourceError, SpecError
from schemas.files import sha256_file, sha256_json


def database_url(text: str | None, variable: str | None, root: Path, spec_file: str, path: str) -> URL:
    """The URL of the source: given in the spec ("{path}" is the source's folder) or by the environment variable that it names."""
    if (text is None) == (variable is None):
        raise SpecError(
            spec_file, [f"{path}.url: give either url or url_env (the name of an environment variable that holds it)"]
        )
    if variable is not None:
        text = os.environ.get(variable)
        if not text:
            raise SpecError(spec_file, [f"{path}.url_env: the environment variable {variable} is not set"])
    try:
        return make_url(str(text).replace("{path}", root.resolve().as_posix()))
    except ArgumentError as error:
        raise SpecError(spec_file, [f"{path}.url: not a database URL, e.g. sqlite:///{{path}}/orders.sqlite"]) from error


def sqlite_file(url: URL) -> Path | None:
    """The file of an SQLite database, or None for another kind."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def shown(url: URL, export: Path) -> str:
    """How the database is named in places and messages: its file within the export, or its host and name; never a password."""
    if file := sqlite_file(url):
        resolved = export.resolve()
        return file.relative_to(resolved).as_posix() if file.is_relative_to(resolved) else file.name
    return f"{url.get_backend_name()}:{url.host or ''}/{url.database or ''}"


def _text_or_bytes(raw: bytes) -> str | bytes:
    """SQLite keeps any bytes as text. One cell that is no UTF-8 is the fault of its row, not of the whole database."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


@contextmanager
def connected(url: URL, name: str) -> Iterator[Connection]:
    """A read-only connection. SourceError in one line for a missing file, an unreachable server or a file that is no database."""
    if file := sqlite_file(url):
        if not file.is_file():
            raise SourceError(name, "", "the database is missing", found="a folder" if file.exists() else "nothing")
        url = url.set(database=f"file:{file.as_posix()}", query={"mode": "ro", "uri": "true"})
    try:
        engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise SourceError(name, "", f"no driver for {url.drivername!r} is installed") from error
    try:
        with engine.connect() as connection:
            if url.get_backend_name() == "postgresql":
                connection.execute(sa.text("SET TRANSACTION READ ONLY, ISOLATION LEVEL REPEATABLE READ"))
            if sqlite_file(url):
                driver: Any = connection.connection.driver_connection
                driver.text_factory = _text_or_bytes
            yield connection
    except SQLAlchemyError as error:
        origin = getattr(error, "orig", None)
        raise SourceError(name, "", f"the database cannot be read ({type(origin or error).__name__})") from error
    finally:
        engine.dispose()


def digest(url: URL, name: str, tables: list[str], schema: str | None) -> str:
    """Digest of the content: of the file, or on a server of every row of the tables that are read."""
    if file := sqlite_file(url):
        if not file.is_file():
            raise SourceError(name, "", "the database is missing", found="a folder" if file.exists() else "nothing")
        beside = [file, *(p for suffix in ("-wal",) if (p := file.with_name(file.name + suffix)).is_file())]
        return sha256_json([sha256_file(path) for path in beside])
    with connected(url, name) as connection:
        found = []
        for table in tables:
            columns = sorted(columns_of(connection, table, schema) or [])
            rows = sorted(repr(row) for row in select(connection, table, columns, schema)) if columns else []
            found.append([table, columns, sha256_json(rows)])
        return sha256_json(found)


def columns_of(connection: Connection, table: str, schema: str | None) -> list[str] | None:
    """Names of a table's columns, or None where there is no such table."""
    inspector = sa.inspect(connection)
    if not inspector.has_table(table, schema=schema):
        return None
    return [str(column["name"]) for column in inspector.get_columns(table, schema=schema)]


def require_columns(
    connection: Connection, name: str, table: str, wanted: Mapping[str, Sequence[str]], schema: str | None
) -> None:
    """SourceError that names the missing table or columns, the options of the spec that ask for them, and what there is."""
    found = columns_of(connection, table, schema)
    if found is None:
        tables = sa.inspect(connection).get_table_names(schema=schema)
        raise SourceError(
            name, "", "a table is missing", field=table, allowed=", ".join(sorted(tables)) or "the database has no tables"
        )
    if missing := [f"{column} ({', '.join(wanted[column])})" for column in wanted if column not in found]:
        raise SourceError(name, "", f"columns of {table} are missing", field=", ".join(missing), allowed=", ".join(found))


def select(connection: Connection, table: str, columns: list[str], schema: str | None) -> Iterator[tuple[Any, ...]]:
    """Rows as tuples of the driver's values: an untyped column keeps SQLAlchemy from converting anything."""
    source = sa.table(table, *[sa.column(column) for column in columns], schema=schema)
    result = connection.execution_options(yield_per=5000).execute(sa.select(*source.c))
    for row in result:
        yield tuple(row)
