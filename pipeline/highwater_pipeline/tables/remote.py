"""Paths in object stores and in HDFS, for what reads and writes files on the driver and on executors alike.

``located`` makes of an address a :class:`RemotePath`, and of everything else a ``Path``. A ``RemotePath`` has those
methods of ``Path`` that the pipeline uses, on top of ``pyarrow.fs``: it needs no Java, and Arrow is where Spark's
Python is. It can be pickled; each process opens its own connection. Credentials, region and endpoint are those of the
process's environment (``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``, ``AWS_REGION``,
``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``, ``~/.aws``, or the role of the machine); none is ever part of an address.

An object store has neither directories nor renames. What must be whole is marked by a file that is written last.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, cast
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pyarrow import fs

SCHEMES: Final = ("s3", "s3a", "hdfs", "file")
_CONNECT_SECONDS: Final = 5
_REQUEST_SECONDS: Final = 20
_ATTEMPTS: Final = 3
_SHOWN: Final = 300
_PATTERN: Final = re.compile(r"[*?\[]")


class BadAddressError(ValueError):
    """Nothing can be at this address; the message says what was expected."""


class NotReachedError(OSError):
    """A store did not do what it was asked; the message says where, and what it answered."""


@dataclass(frozen=True, slots=True, order=True)
class RemotePath:
    """``key`` in the ``bucket`` (of HDFS: on the name node) of a ``scheme``."""

    scheme: str
    bucket: str
    key: PurePosixPath

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}".removesuffix("/.")

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(self.scheme, self.bucket, self.key / name)

    @property
    def name(self) -> str:
        """The last part; that of a whole bucket is the bucket."""
        return self.key.name or self.bucket

    @property
    def parent(self) -> RemotePath:
        """The directory that it is in."""
        return RemotePath(self.scheme, self.bucket, self.key.parent)

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return self.key.stem or self.bucket

    @property
    def suffix(self) -> str:
        """What the name ends with, from its last dot on."""
        return self.key.suffix

    @property
    def in_filesystem(self) -> str:
        """The path as the file system of :func:`filesystem_of` has it."""
        return f"/{self.key}" if self.scheme == "hdfs" else f"{self.bucket}/{self.key}".removesuffix("/.")

    def absolute(self) -> RemotePath:
        return self

    def resolve(self) -> RemotePath:
        return self

    def exists(self) -> bool:
        """Whether there is a file, or anything below. Raises :class:`NotReachedError`."""
        return bool(self._info().type.name != "NotFound")

    def look_up(self) -> None:
        """Raise :class:`NotReachedError` if the bucket does not exist, or may not be looked into."""
        if self.scheme == "hdfs":
            return
        if RemotePath(self.scheme, self.bucket, PurePosixPath())._info().type.name == "NotFound":
            raise NotReachedError(f"{self.scheme}://{self.bucket}: there is no such bucket")

    def is_file(self) -> bool:
        """Whether there is a file."""
        return bool(self._info().type.name == "File")

    def is_dir(self) -> bool:
        """Whether there is anything below."""
        return bool(self._info().type.name == "Directory")

    def size(self) -> int:
        """Bytes of the file; 0 if there is none."""
        return self._info().size or 0

    def open(self, mode: str = "rb") -> BinaryIO:
        """Open for reading bytes (``rb``), or for writing them (``wb``): they are there once it is closed."""
        try:
            if mode == "wb":
                return cast(BinaryIO, filesystem_of(self).open_output_stream(self.in_filesystem))
            return cast(BinaryIO, io.BufferedReader(filesystem_of(self).open_input_file(self.in_filesystem), 1 << 20))
        except OSError as error:
            self._fail(error)

    def read_bytes(self) -> bytes:
        """The whole file."""
        try:
            with self.open() as file:
                return file.read()
        except OSError as error:
            self._fail(error)

    def write_bytes(self, content: bytes) -> None:
        """Write or replace the file."""
        try:
            with self.open("wb") as file:
                file.write(content)
        except OSError as error:
            self._fail(error)

    def make_directory(self) -> None:
        """Make the directory and those above it, in a store that has directories."""
        if self.scheme == "hdfs":
            try:
                filesystem_of(self).create_dir(self.in_filesystem, recursive=True)
            except OSError as error:
                self._fail(error)

    def iterdir(self) -> Iterator[RemotePath]:
        """What is directly below, in order of the names."""
        yield from (path for path, _ in self._below(recursive=False))

    def files(self) -> Iterator[tuple[RemotePath, int]]:
        """All files below, in order of their addresses, and their sizes in bytes."""
        yield from ((path, size) for path, size in self._below(recursive=True) if size is not None)

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """What below matches a pattern, level by level; ``*`` does not match a slash."""
        first, _, rest = pattern.partition("/")
        found = [one for one in self.iterdir() if PurePosixPath(one.name).match(first)]
        yield from (one for match in found for one in match.glob(rest)) if rest else found

    def _below(self, *, recursive: bool) -> list[tuple[RemotePath, int | None]]:
        from pyarrow import fs  # noqa: PLC0415 - a fifth of a second that only addresses need

        try:
            selector = fs.FileSelector(self.in_filesystem, recursive=recursive)
            infos = filesystem_of(self).get_file_info(selector)
        except OSError as error:
            self._fail(error)
        found = [
            (_of_key(self, info.path), info.size if info.type.name == "File" else None)
            for info in infos
            if not info.path.endswith("/")
        ]
        return sorted(found, key=lambda one: one[0])

    def _info(self) -> fs.FileInfo:
        try:
            return filesystem_of(self).get_file_info(self.in_filesystem)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> NoReturn:
        if isinstance(error, NotReachedError):
            raise error
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(f"{self}: no such file") from error
        raise NotReachedError(f"{self}: {_why(self, error)}") from error


AnyPath = Path | RemotePath


def located(path: AnyPath | str) -> AnyPath:
    """What a path or an address names: ``s3://`` and ``s3a://`` (the same), ``hdfs://``, ``file://``, or a local path.

    Raises :class:`BadAddressError`.
    """
    if not isinstance(path, str):
        return path
    if "://" not in path:
        return Path(path)
    expected = f"{path}: expected a path, or an address that begins with {', '.join(f'{one}://' for one in SCHEMES)}"
    # Not urlsplit for the rest of it: in a key, "?" and "#" are characters and patterns.
    scheme, _, rest = path.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme not in SCHEMES:
        raise BadAddressError(f"{expected}; found {scheme}://: copy the run to one of these first, or mount the store")
    if scheme == "file":
        try:
            address = urlsplit(path)
        except ValueError as error:
            raise BadAddressError(f"{expected}: {error}") from error
        if address.netloc not in ("", "localhost"):
            raise BadAddressError(f"{expected}; found another machine, {address.netloc}: mount its files")
        return Path(unquote(address.path))
    if "@" in bucket:
        raise BadAddressError(f"{scheme}://…: an address holds no credentials; put them into the environment")
    if not bucket and scheme != "hdfs":
        raise BadAddressError(f"{expected}; found no bucket: {scheme}://BUCKET/PATH")
    return RemotePath(scheme, bucket, PurePosixPath(key.strip("/")))


@contextmanager
def reaching(path: AnyPath) -> Iterator[None]:
    """Turn what Arrow raises of a store into :class:`NotReachedError`, which names the path."""
    try:
        yield
    except OSError as error:
        if isinstance(path, RemotePath):
            path._fail(error)
        raise


def parent_of_pattern(path: RemotePath) -> tuple[RemotePath, str]:
    """Return the longest beginning without a pattern, and the pattern below it (empty: there is none)."""
    parts = path.key.parts
    first = next((number for number, part in enumerate(parts) if _PATTERN.search(part)), len(parts))
    return RemotePath(path.scheme, path.bucket, PurePosixPath(*parts[:first])), "/".join(parts[first:])


def arrow_of(path: AnyPath) -> tuple[str, Any]:
    """A path as Arrow's readers and writers of Parquet take it: the path, and the ``filesystem`` (None: local)."""
    return (path.in_filesystem, filesystem_of(path)) if isinstance(path, RemotePath) else (str(path), None)


def filesystem_of(path: RemotePath) -> fs.FileSystem:
    """The file system that a path is in, one a process. Raises :class:`NotReachedError`."""
    try:
        return _filesystem(path.scheme, path.bucket, os.getpid())
    except OSError as error:
        raise NotReachedError(f"{path}: {_why(path, error)}") from error


@lru_cache(maxsize=16)
def _filesystem(scheme: str, bucket: str, _process: int) -> fs.FileSystem:
    from pyarrow import fs  # noqa: PLC0415 - a fifth of a second that only addresses need

    if scheme == "hdfs":
        host, _, port = bucket.partition(":")
        return fs.HadoopFileSystem(host or "default", int(port or 0))
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and endpoint is None:
        region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        endpoint_override=endpoint or None,
        region=region,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        background_writes=False,  # a store's errors are raised where they are made
    )


def _of_key(beside: RemotePath, path: str) -> RemotePath:
    key = path if beside.scheme == "hdfs" else path.partition("/")[2]
    return RemotePath(beside.scheme, beside.bucket, PurePosixPath(key.strip("/")))


_KINDS: Final = (
    ("NO_SUCH_BUCKET", "there is no such bucket"),
    ("ACCESS_DENIED", "the store refused access: give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY that may do this"),
    ("INVALID_ACCESS_KEY_ID", "the store does not know AWS_ACCESS_KEY_ID"),
    ("SIGNATURE_DOES_NOT_MATCH", "AWS_SECRET_ACCESS_KEY does not belong to AWS_ACCESS_KEY_ID"),
    ("NETWORK_CONNECTION", "the store cannot be reached; look at AWS_ENDPOINT_URL"),
    ("REQUEST_TIMEOUT", "the store does not answer; look at AWS_ENDPOINT_URL"),
    ("libhdfs", "HDFS needs libhdfs.so (ARROW_LIBHDFS_DIR, CLASSPATH) where Python runs, on every executor too"),
    ("libjvm", "HDFS needs a Java (JAVA_HOME) where Python runs, on every executor too"),
)


def _why(path: RemotePath, error: OSError) -> str:
    text = " ".join(str(error).split())
    sentence = next((sentence for word, sentence in _KINDS if word in text), f"{path.scheme} failed")
    return f"{sentence} ({text[:_SHOWN]})"
