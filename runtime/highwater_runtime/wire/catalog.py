"""Every message class of this build, for tools and tests that need all of them. Nodes do not use this module."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from highwater_runtime.wire import messages
from highwater_runtime.wire.message import Message


def message_classes() -> list[type[Message]]:
    """Import every module under ``messages``; return their message classes by name."""
    modules = {
        import_module(f"{messages.__name__}.{module.name}").__name__ for module in iter_modules(messages.__path__)
    }
    return sorted((cls for cls in Message.__subclasses__() if cls.__module__ in modules), key=lambda cls: cls.NAME)
