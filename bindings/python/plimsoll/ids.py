"""Names of nodes."""
from __future__ import annotations

import ctypes
from typing import Any, Iterable, List, Type, TypeVar, Union

import numpy as np

from ._lib import SavedHandle, ask, call, make

I = TypeVar("I", bound="Ids")  # noqa: E741
Name = Union[str, bytes]


class Ids(SavedHandle):
    """The names of nodes: a table from names to ids and back, made by Graph.from_named_edge_list().

    Names are text. Bytes that are not UTF-8 become surrogates, as in file names. A table can be copied and
    pickled; both go through a temporary file.
    """

    __slots__ = ()
    _free = "plim_ids_free"

    @classmethod
    def load(cls: Type[I], path: Any) -> I:
        """Reads a table that save() wrote."""
        return cls._own(make("plim_ids_load", path))

    def save(self, path: Any) -> None:
        """Writes the table as text. An existing file is replaced only when the new one is complete."""
        call("plim_ids_save", self, path)

    def find(self, name: Name) -> int:
        """Returns the id of a name, or -1 if the table does not have it."""
        return int(self.find_all([name])[0])

    def find_all(self, names: Iterable[Name]) -> np.ndarray:
        """Returns the ids of many names; -1 for those that the table does not have."""
        wanted = [_encoded(name) for name in names]
        ids, out = np.full(len(wanted), -1, np.int32), np.empty(1, np.int32)
        for i, name in enumerate(wanted):
            if b"\0" not in name:  # no name has one, and C would stop there
                call("plim_ids_find", self, name, out)
                ids[i] = out[0]
        return ids

    def name(self, id: int) -> str:
        """Returns the name of an id."""
        return self._names([id])[0]

    @property
    def names(self) -> List[str]:
        """All names, in the order of their ids."""
        return self._names(range(len(self)))

    def _names(self, ids: Iterable[int]) -> List[str]:
        text = ctypes.create_string_buffer(ask("plim_ids_name_size", self))
        names = []
        for id in ids:
            call("plim_ids_copy_name", self, id, text, len(text))
            names.append(text.value.decode("utf-8", "surrogateescape"))
        return names

    def __len__(self) -> int:
        return ask("plim_ids_count", self)

    def __contains__(self, name: Name) -> bool:
        return self.find(name) >= 0

    def __repr__(self) -> str:
        return "<plimsoll.Ids, closed>" if self.closed else f"<plimsoll.Ids of {len(self)} names>"


def _encoded(name: Name) -> bytes:
    if isinstance(name, str):
        return name.encode("utf-8", "surrogateescape")
    if isinstance(name, bytes):
        return name
    raise TypeError(f"a name must be text, not {name!r:.80}")
