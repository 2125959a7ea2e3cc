"""What all parts of the experiment model share."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.base.strict_model import Model as Model  # noqa: PLC0414 - what all parts share

_PARTITION: Final = r"^[a-zA-Z0-9._-]{1,249}-[0-9]+$"
_TOPIC: Final = r"^[a-zA-Z0-9._-]{1,249}$"
LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
KEY_NAME: Final = r"^[-._a-zA-Z0-9]+$"
WEB_ADDRESS: Final = r"^https?://[^\s/?#]+(/[^\s?#]*)?$"

EXPECTED: Final = {
    _PARTITION: "a topic and its partition, such as orders-0",
    _TOPIC: "a topic name of letters, digits, '.', '_' and '-'",
    LABEL: "lower-case letters, digits and dashes inside, such as kill-1",
    SUBDOMAIN: "lower-case letters and digits, dashes and dots inside, such as power-loss",
    KEY_NAME: "letters, digits, '.', '_' and '-', such as client.properties",
    WEB_ADDRESS: "an address such as http://prometheus:9090, without a query",
}
"""What each pattern of a field asks for, in words."""

PartitionName = Annotated[str, Field(pattern=_PARTITION, max_length=260)]
"""A topic-partition: topic name, dash, index (``orders-0``)."""

TopicName = Annotated[str, Field(pattern=_TOPIC, max_length=249)]
"""A topic's name by Kafka's rules."""

NodeIndex = Annotated[int, Field(ge=0, le=999)]
"""The index of a controller or server: ``controller: 0`` is the pod or process ``controller-0``."""

BrokerId = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""A broker's id: from 0 in our own clusters; in others perhaps from 1001 (``reserved.broker.max.id``)."""


class OneOf(Model):
    """A model of which exactly one field is given: the file's way to write a choice (``{kill: {…}}``).

    Fields listed in ``COMMON`` may stand beside it.
    """

    @classmethod
    def common(cls) -> frozenset[str]:
        """Names of fields that are not alternatives."""
        return frozenset()

    @classmethod
    def required(cls) -> bool:
        """Whether one must be given; otherwise none may be, too."""
        return True

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in self.__class__.model_fields if name in self.model_fields_set - self.common()]
        given = [name for name in given if getattr(self, name) is not None]
        if len(given) != 1 and (given or self.required()):
            allowed = ", ".join(written for _, written in _alternatives(self.__class__))
            found = ", ".join(self.__class__.model_fields[name].alias or name for name in given) or "none"
            raise PydanticCustomError(
                "one_of",
                f"expected {'exactly' if self.required() else 'at most'} one of {{allowed}}; found {{found}}",
                {"allowed": allowed, "found": found},
            )
        return self

    @property
    def choice(self) -> str:
        """The name of the field that is given, as the file writes it."""
        return self._given()[0]

    @property
    def chosen(self) -> object:
        """The value of the field that is given."""
        return self._given()[1]

    def _given(self) -> tuple[str, object]:
        for name, written in _alternatives(self.__class__):
            value = getattr(self, name)
            if value is not None:
                return written, value
        raise AssertionError("validated to have exactly one")


@cache
def _alternatives(model: type[OneOf]) -> tuple[tuple[str, str], ...]:
    """Each alternative: the name of its field, and as the file writes it. Asked for at each turn of a run."""
    fields, common = model.model_fields, model.common()
    return tuple((name, field.alias or name) for name, field in fields.items() if name not in common)
