"""The tests that the library eventsourcing has for recorders, over UmaDB's client and demo-server."""

import unittest
from dataclasses import replace
from uuid import uuid4

# Not the classes themselves: unittest would run them too.
from eventsourcing.dcb import tests as dcb
from eventsourcing.tests import persistence
from eventsourcing_umadb import recorders
from server import BACKENDS, serving
from umadb import Client


class OnServer:
    """Each test has an empty store."""

    def setUp(self):
        super().setUp()
        server = serving(self.backend)
        address = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)
        self.client = Client(f"http://{address}")
        self.addCleanup(self.client.close)

    def create_recorder(self):
        return self.recorder(self.client)


class NewIds(recorders.UmaDbDcbRecorder):
    """The test appends the same events several times. The server stores an id once, so here they get new ids."""

    def __init__(self, client):
        super().__init__(client)
        self.sent = set()

    def append(self, events, condition=None):
        events = [replace(event, uuid=uuid4()) if event.uuid in self.sent else event for event in events]
        position = super().append(events, condition)
        self.sent.update(event.uuid for event in events)
        return position


class Dcb(OnServer):
    recorder = NewIds

    def test_append_and_read(self):
        self._test_append_read(self.create_recorder())

    def test_append_and_subscribe(self):
        self._test_append_subscribe(self.create_recorder())


class Aggregates(OnServer):
    recorder = recorders.UmaDbAggregateRecorder
    recorder_supports_idempotent_appends = True


class Applications(OnServer):
    recorder = recorders.UmaDbApplicationRecorder
    recorder_supports_idempotent_appends = True

    def test_insert_and_subscribe(self):
        self.optional_test_insert_subscribe()


for backend in BACKENDS:
    for ours, theirs in [
        (Dcb, dcb.DcbRecorderTestCase),
        (Aggregates, persistence.AggregateRecorderTestCase),
        (Applications, persistence.ApplicationRecorderTestCase),
    ]:
        name = f"{ours.__name__}_on_{backend}"
        globals()[name] = type(name, (ours, theirs), {"backend": backend})
# unittest would run this one too.
del theirs

if __name__ == "__main__":
    unittest.main()
