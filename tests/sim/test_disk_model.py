"""SimDisk against a model so naive that it can be believed: whole copies of everything, at every step."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from highwater_runtime.sim import SimDisk

DIRECTORIES = ["", "d"]
NAMES = ["a", "b", "c"]
paths = st.builds(
    lambda directory, name: f"{directory}/{name}" if directory else name,
    st.sampled_from(DIRECTORIES),
    st.sampled_from(NAMES),
)


def directory_of(path):
    return path.rpartition("/")[0]


class ModelFile:
    def __init__(self):
        self.now = b""
        self.synced = b""


class SimDiskMachine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed):
        self.disk = SimDisk(seed)
        self.disk.mkdir("d")
        self.disk.fsync_dir()
        self.names = {}  # path: ModelFile
        self.durable_names = {}
        self.past_names = [{}]  # every state of the names since the last power loss
        self.waiting = []
        self.ended = []

    @rule(path=paths)
    def create(self, path):
        self.disk.open(path, create=True).close()
        self.names.setdefault(path, ModelFile())
        self.remember()

    @rule(path=paths, data=st.binary(max_size=9), position=st.one_of(st.none(), st.integers(0, 20)))
    def write(self, path, data, position):
        if (model := self.names.get(path)) is None:
            return
        file = self.disk.open(path)
        if position is None:
            assert file.append(data) == len(model.now)
            model.now += data
        else:
            file.pwrite(position, data)
            if data:
                padded = model.now.ljust(position, b"\0")
                model.now = padded[:position] + data + padded[position + len(data) :]

    @rule(path=paths, length=st.integers(0, 20))
    def truncate(self, path, length):
        if (model := self.names.get(path)) is None:
            return
        self.disk.open(path).truncate(length)
        model.now = model.now[:length].ljust(length, b"\0")

    @rule(path=paths)
    def fsync(self, path):
        if (model := self.names.get(path)) is None:
            return
        self.disk.open(path).fsync()
        model.synced = model.now
        # A later end of an earlier fsync must not take anything back.
        self.waiting = [(file, content) for file, content in self.waiting if file is not model]

    @rule(path=paths)
    def fsync_later(self, path):
        if (model := self.names.get(path)) is None:
            return
        self.disk.open(path).fsync_later(self.ended.append)
        self.waiting.append((model, model.now))

    @rule()
    def complete_fsyncs(self):
        self.disk.complete_fsyncs()
        assert set(self.ended) <= {None}
        for model, content in self.waiting:
            model.synced = content
        self.waiting.clear()

    @rule(directory=st.sampled_from(DIRECTORIES))
    def fsync_dir(self, directory):
        self.disk.fsync_dir(directory)
        elsewhere = {path: file for path, file in self.durable_names.items() if directory_of(path) != directory}
        here = {path: file for path, file in self.names.items() if directory_of(path) == directory}
        self.durable_names = elsewhere | here

    @rule(directory=st.sampled_from(DIRECTORIES), source=st.sampled_from(NAMES), new_name=st.sampled_from(NAMES))
    def rename(self, directory, source, new_name):
        prefix = f"{directory}/" if directory else ""
        if prefix + source not in self.names:
            return
        self.disk.rename(prefix + source, prefix + new_name)
        self.names[prefix + new_name] = self.names.pop(prefix + source)
        self.remember()

    @rule(path=paths)
    def unlink(self, path):
        if path not in self.names:
            return
        self.disk.unlink(path)
        del self.names[path]
        self.remember()

    @rule(keep=st.sampled_from(["none", "all"]))
    def power_loss(self, keep):
        before = {path: file.now for path, file in self.names.items()}
        evidence = self.disk.power_loss(keep)
        if keep == "none":
            self.names = dict(self.durable_names)
            for model in self.names.values():
                model.now = model.synced
        self.durable_names = dict(self.names)
        for model in self.names.values():
            model.synced = model.now
        assert evidence.files_lost == tuple(sorted(set(before) - set(self.names)))
        if keep == "all":
            assert evidence.bytes_lost == 0
        self.forget()

    @rule()
    def power_loss_keeping_a_prefix(self):
        """The names are those of one moment, or of one moment in each directory that was made durable since."""
        past, durable = self.past_names, self.durable_names
        self.disk.power_loss("prefix")
        found = self.contents()
        for directory in DIRECTORIES:
            here = {path for path in found if directory_of(path) == directory}
            assert any(
                here == {path for path in names if directory_of(path) == directory} for names in [*past, durable]
            )
        # From here on the disk itself says what there is: the model begins again.
        self.names = {}
        for path, content in found.items():
            self.names[path] = file = ModelFile()
            file.now = file.synced = content
        self.durable_names = dict(self.names)
        self.forget()

    @rule()
    def wipe(self):
        self.disk.wipe()
        self.disk.mkdir("d")
        self.disk.fsync_dir()
        self.names, self.durable_names = {}, {}
        self.forget()

    @invariant()
    def reads_are_what_was_written(self):
        assert self.contents() == {path: file.now for path, file in self.names.items()}

    @invariant()
    def nothing_is_lost_that_is_durable(self):
        """Try a power loss on a copy: what was fsynced under a durable name is there."""
        copy = deepcopy(self.disk)
        copy.power_loss("none")
        assert self.contents(copy) == {path: file.synced for path, file in self.durable_names.items()}

    def contents(self, disk=None):
        disk = disk or self.disk
        found = {}
        for directory in DIRECTORIES:
            for name in disk.list(directory):
                path = f"{directory}/{name}" if directory else name
                if not disk.is_dir(path):
                    file = disk.open(path)
                    found[path] = file.read(0, file.size())
        return found

    def remember(self):
        self.past_names.append(dict(self.names))

    def forget(self):
        self.past_names = [dict(self.names)]
        self.waiting.clear()


TestSimDiskModel = SimDiskMachine.TestCase
TestSimDiskModel.settings = settings(max_examples=80, stateful_step_count=30)
