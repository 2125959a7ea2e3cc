"""Who may have written a file or a directory: nobody obeys what another user may have written.

A journal says what to delete, unmount and kill. If root healed from one that somebody else wrote, that user would be
root. So the state directory, and each directory above it, must belong to root or to this user, and nobody else may
write there; a run and its files must be this user's own. In a directory with the sticky bit, as /tmp has it, others may
write, but cannot rename or remove what is not theirs. The same goes for programs that are kept in the user's cache, and
for records of clusters, which name processes to end: HOME may be another user's (``sudo -E``).
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from highwater_chaos.machine.errors import MachineError, PlaceError


class NotOwnError(MachineError):
    """Another user may have written it. What it says is not done."""


def check_kept(place: Path, advice: str) -> None:
    """The same as :func:`check_place` for a file or a directory that is used by any path, links on the way included.

    Raises:
        PlaceError: somebody else can change it, or put another one in its place.
    """
    for path in dict.fromkeys((Path(os.path.abspath(place)), place.resolve())):  # noqa: PTH100 - links as they are
        check_place(path, advice)


def check_place(directory: Path, advice: str) -> None:
    """See that nobody else can change a directory, or put another one in its place. What does not exist yet is passed
    over.

    Args:
        directory: absolute and resolved. It may be a file, too.
        advice: what the user can do instead; ends the message.

    Raises:
        PlaceError: somebody else can.
    """
    trusted = {0, os.geteuid(), Path("/").stat().st_uid}  # in a user namespace, root of the machine has another number
    for place in (directory, *directory.parents):
        try:
            found = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_IFMT(found.st_mode) not in (stat.S_IFDIR, stat.S_IFLNK, stat.S_IFREG):
            continue  # nothing is below it, and nothing can be made there
        if found.st_uid not in trusted:
            why = f"it belongs to {_user(found.st_uid)}"
        elif _others_may_change(found):
            why = f"others may write to it (mode {stat.S_IMODE(found.st_mode):o})"
        else:
            continue
        below = "" if place == directory else f", in which {directory} lies"
        me = "root" if os.geteuid() == 0 else f"user {os.geteuid()} or root"
        raise PlaceError(
            f"{place}{below}: expected {'a directory' if stat.S_ISDIR(found.st_mode) else 'a file'} of {me} to which"
            f" nobody else may write, but {why}; {advice}"
        )


def check_own(place: Path, found: os.stat_result) -> None:
    """See that a run's directory, or a file in it, is this user's own.

    Raises:
        NotOwnError: it is another's, others may write to it, or it is a link, a device or the like.
    """
    me = os.geteuid()
    if found.st_uid != me:
        why = f"it belongs to {_user(found.st_uid)}"
    elif _others_may_write(found):
        why = f"others may write to it (mode {stat.S_IMODE(found.st_mode):o})"
    elif not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        why = "it is neither a file nor a directory"
    else:
        return
    raise NotOwnError(
        f"{place}: {why}, so others may have written what it says; nothing was done. Heal it as its owner, or remove it"
    )


def read_own(place: Path, offset: int = 0) -> bytes:
    """Read a file of a run from ``offset`` on. No link is followed.

    Raises:
        NotOwnError: it is not this user's own.
        OSError: it cannot be read; ``FileNotFoundError``: there is none.
    """
    with open(place, "rb", opener=_no_link) as file:
        check_own(place, os.fstat(file.fileno()))
        file.seek(offset)
        return file.read()


def _no_link(path: str, flags: int) -> int:
    # A FIFO in its place must not block whoever heals.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _others_may_change(found: os.stat_result) -> bool:
    # A link cannot be written to, only replaced.
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    return not stat.S_ISLNK(found.st_mode) and not sticky and _others_may_write(found)


def _others_may_write(found: os.stat_result) -> bool:
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _is_private(found.st_gid, found.st_uid)


def _is_private(group: int, user: int) -> bool:
    """Whether a group is the user's private one, of which most systems make one for each user."""
    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    return owner.pw_gid == group and members.gr_name == owner.pw_name and set(members.gr_mem) <= {owner.pw_name}


def _user(uid: int) -> str:
    return "root" if uid == 0 else f"user {uid}"
