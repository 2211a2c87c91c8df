"""UmaDB's Python client against demo-server: every call, TLS and key, retries, races."""

import os
import subprocess
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from server import BACKENDS, serving
from umadb import (
    AppendCondition,
    AuthenticationError,
    CancelledByUserError,
    Client,
    Event,
    IntegrityError,
    Query,
    QueryItem,
    ServingStatus,
    TrackingInfo,
)


def made(*tags, uuid=None, data=b"data"):
    return Event(event_type="Made", data=data, tags=list(tags), uuid=uuid, metadata={"by": "me"})


def tagged(*tags):
    return Query(items=[QueryItem(tags=list(tags))])


def positions(events):
    return [event.position for event in events]


class Calls:
    """The tests of each backend."""

    def setUp(self):
        server = serving(self.backend)
        self.url = f"http://{server.__enter__()}"
        self.addCleanup(server.__exit__, None, None, None)
        self.client = Client(self.url)
        self.addCleanup(self.client.close)

    def test_each_call(self):
        client = self.client
        self.assertIsNone(client.head())
        uuid = uuid4()
        sent = [made("b", "a", uuid=uuid), made("b", data=bytes(range(256)))]
        self.assertEqual(client.append(sent), 2)
        self.assertEqual(client.head(), 2)
        events, head = client.read().collect_with_head()
        self.assertEqual(head, 2)
        self.assertEqual([event.position for event in events], [1, 2])
        self.assertEqual(events[0].event.uuid, uuid)
        self.assertEqual(events[0].event.tags, ["b", "a"])
        self.assertEqual(events[0].event.metadata, {"by": "me"})
        self.assertEqual(bytes(events[1].event.data), bytes(range(256)))
        self.assertEqual([event.position for event in client.read(tagged("a"))], [1])
        self.assertEqual([event.position for event in client.read(backwards=True)], [2, 1])
        self.assertEqual([event.position for event in client.read(start=2)], [2])
        limited = client.read(limit=1)
        self.assertEqual([event.position for event in limited], [1])
        self.assertEqual(limited.head(), 1)
        self.assertEqual(client.check_health(), ServingStatus.SERVING)
        self.assertEqual(client.check_health("umadb.v1.DCB"), ServingStatus.SERVING)

    def test_pages(self):
        count = 10_000
        for first in range(0, count, 1_000):
            self.client.append([made(str(n % 2)) for n in range(first, first + 1_000)])
        for size in [None, 1, 100, 4_096]:
            client = Client(self.url, batch_size=size)
            part = count if size != 1 else 100
            events, head = client.read(start=count - part + 1).collect_with_head()
            self.assertEqual([event.position for event in events], [*range(count - part + 1, count + 1)])
            self.assertEqual(head, count)
            client.close()
        client = Client(self.url, batch_size=500)
        pages = client.read(tagged("1"))
        self.assertEqual([len(pages.next_batch()) for _ in range(11)], [500] * 10 + [0])
        client.close()
        wide = [event.position for event in self.client.read(backwards=True)]
        self.assertEqual(wide, [*range(count, 0, -1)])

    def test_conditions_and_retries(self):
        client, uuid = self.client, uuid4()
        condition = AppendCondition(tagged("seat:1"))
        first = [made("seat:1", uuid=uuid)]
        self.assertEqual(client.append(first, condition), 1)
        with self.assertRaises(IntegrityError):
            client.append([made("seat:1", uuid=uuid4())], condition)
        self.assertEqual(client.append(first, condition), 1)
        with self.assertRaises(IntegrityError):
            client.append([*first, made("seat:1", uuid=uuid4())], condition)
        self.assertEqual(client.append([made("seat:1")], AppendCondition(tagged("seat:1"), after=1)), 2)
        with self.assertRaises(IntegrityError):
            client.append([made("seat:1")], AppendCondition(tagged("seat:1"), after=1))
        self.assertEqual(client.append(first, condition), 1)
        self.assertEqual(client.append([made("seat:1")], AppendCondition(tagged("seat:1"), after=99)), 3)
        self.assertEqual(client.append([], None), 0)
        self.assertEqual(client.head(), 3)

    def test_queries(self):
        client = self.client
        sent = [("Opened", ["a"]), ("Closed", ["a", "b"]), ("Opened", ["b"]), ("Closed", [])]
        client.append([Event(event_type=of_type, data=b"", tags=tags) for of_type, tags in sent])
        for items, expected in [
            ([], [1, 2, 3, 4]),
            # Any of the types, and all of the tags.
            ([QueryItem(types=["Opened"])], [1, 3]),
            ([QueryItem(types=["Opened", "Closed"], tags=["a"])], [1, 2]),
            ([QueryItem(types=["Closed"], tags=["a"])], [2]),
            ([QueryItem(tags=["a", "b"])], [2]),
            ([QueryItem(tags=["b", "c"])], []),
            # Any of the items.
            ([QueryItem(types=["Closed"], tags=["a"]), QueryItem(types=["Opened"], tags=["b"])], [2, 3]),
        ]:
            query = Query(items=items)
            with self.subTest(items=items):
                self.assertEqual(positions(client.read(query)), expected)
                subscription = client.subscribe(query)
                self.assertEqual([next(subscription).position for _ in expected], expected)
                subscription.cancel()
                # Without events, an append only checks its condition.
                if expected:
                    with self.assertRaises(IntegrityError):
                        client.append([], AppendCondition(query))
                else:
                    self.assertEqual(client.append([], AppendCondition(query)), 0)

    def test_tracking(self):
        client = self.client
        self.assertIsNone(client.get_tracking_info("upstream"))
        client.append([made()], tracking_info=TrackingInfo("upstream", 7))
        self.assertEqual(client.get_tracking_info("upstream"), 7)
        for position in [7, 6]:
            with self.assertRaises(IntegrityError):
                client.append([made()], tracking_info=TrackingInfo("upstream", position))
        [event] = client.read()
        self.assertEqual(event.tracking_info, TrackingInfo("upstream", 7))
        # A retry is known before its tracking is looked at.
        retried = [made("a", uuid=uuid4())], AppendCondition(tagged("a")), TrackingInfo("upstream", 8)
        self.assertEqual([client.append(*retried) for _ in range(2)], [2, 2])
        self.assertEqual(client.head(), 2)

    def test_invalid_values(self):
        for events, tracking in [
            ([Event(event_type="", data=b"")], None),
            ([made("")], None),
            ([made()], TrackingInfo("x" * 256, 1)),
        ]:
            with self.assertRaises(ValueError):
                self.client.append(events, tracking_info=tracking)
        self.assertIsNone(self.client.head())

    def test_subscriptions_across_appends(self):
        self.client.append([made("a"), made("b")])
        everything = self.client.subscribe()
        of_a = self.client.subscribe(tagged("a"), after=1)
        beyond = self.client.subscribe(after=100)
        self.assertEqual([next(everything).position for _ in range(2)], [1, 2])
        other = Client(self.url)
        for n in range(3, 103):
            other.append([made("a" if n % 2 else "b")])
        self.assertEqual([next(everything).position for _ in range(100)], [*range(3, 103)])
        self.assertEqual([next(of_a).position for _ in range(50)], [*range(3, 103, 2)])
        self.assertEqual([next(beyond).position for _ in range(2)], [101, 102])
        other.close()

    def test_subscription_that_is_behind(self):
        # More than the transport takes before the client reads.
        for _ in range(3):
            self.client.append([made(data=b"x" * 900_000)] * 4)
        subscription = self.client.subscribe()
        seen = [next(subscription).position]
        for _ in range(50):
            self.client.append([made()])
        seen += [next(subscription).position for _ in range(11)]
        self.client.append([made()])
        while seen[-1] < 63:
            seen.append(next(subscription).position)
        self.assertEqual(seen, [*range(1, 64)])
        self.assertEqual(positions(self.client.read()), seen)

    def test_subscription_ends_with_the_server(self):
        with serving(self.backend) as address:
            client = Client(f"http://{address}")
            client.append([made()])
            subscription = client.subscribe()
            self.assertEqual(next(subscription).position, 1)
        # Not an error.
        self.assertEqual(list(subscription), [])
        client.close()

    def test_snapshot(self):
        for _ in range(10):
            self.client.append([made()] * 1_000)
        client = Client(self.url, batch_size=100)
        pages = client.read()
        seen = positions(pages.next_batch())
        self.client.append([made()])
        seen += positions(pages)
        self.assertEqual(seen, [*range(1, 10_001)])
        self.assertEqual(pages.head(), 10_000)
        client.close()

    def test_cancellation(self):
        server = serving(self.backend, "--max-subscriptions", "1")
        url = f"http://{server.__enter__()}"
        self.addCleanup(server.__exit__, None, None, None)
        client = Client(url)
        self.addCleanup(client.close)
        subscription = client.subscribe()
        failed = []

        def follow():
            try:
                next(subscription)
            except CancelledByUserError as cancelled:
                failed.append(cancelled)

        follower = threading.Thread(target=follow)
        follower.start()
        subscription.cancel()
        follower.join(timeout=30)
        self.assertEqual(len(failed), 1)
        # The client ends the call with the last reference. The server goes on, and has its place again.
        del subscription
        self.assertEqual(client.append([made()]), 1)
        for _ in range(10_000):
            try:
                again = client.subscribe()
                break
            except Exception as taken:
                self.assertIn("1 subscriptions", str(taken))
        self.assertEqual(next(again).position, 1)

    def test_race(self):
        writers, seats = 32, 20
        clients = [Client(self.url) for _ in range(4)]

        def write(writer):
            won, client = {}, clients[writer % len(clients)]
            for seat in range(seats):
                tag = f"seat:{seat}"
                try:
                    won[tag] = client.append([made(tag, f"writer:{writer}")], AppendCondition(tagged(tag)))
                except IntegrityError:
                    pass
            return writer, won

        with ThreadPoolExecutor(writers) as pool:
            answers = list(pool.map(write, range(writers)))
        won = sorted((at, tag, f"writer:{writer}") for writer, all_won in answers for tag, at in all_won.items())
        log = [(event.position, *event.event.tags) for event in self.client.read()]
        self.assertEqual(won, log)
        self.assertEqual(len(log), seats)
        # A replay of each boundary finds its winner alone.
        for seat in range(seats):
            self.assertEqual(len(list(self.client.read(tagged(f"seat:{seat}")))), 1)

    def test_tls_and_key(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = f"{folder}/server.pem", f"{folder}/server.key"
            subprocess.run(
                ["openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec", "-pkeyopt"]
                + ["ec_paramgen_curve:prime256v1", "-subj", "/CN=localhost", "-addext"]
                + ["subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"]
                + ["-keyout", key, "-out", certificate],
                check=True,
                capture_output=True,
            )
            options = ["--grpc-key", "secret", "--grpc-cert", certificate, "--grpc-tls-key", key]
            with serving(self.backend, *options) as address:
                url = f"https://localhost:{address.rsplit(':')[-1]}"
                client = Client(url, ca_path=certificate, api_key="secret")
                self.assertEqual(client.append([made()]), 1)
                client.close()
                for wrong in [None, "secre", "secret2"]:
                    client = Client(url, ca_path=certificate, api_key=wrong)
                    with self.assertRaises(AuthenticationError):
                        client.append([made()])
                    for call in [client.head, client.read, client.subscribe, lambda: client.get_tracking_info("a")]:
                        with self.assertRaises(AuthenticationError):
                            call()
                    self.assertEqual(client.check_health(), ServingStatus.SERVING)
                    client.close()


for name in BACKENDS:
    case = type(f"On_{name}", (Calls, unittest.TestCase), {"backend": name})
    globals()[case.__name__] = case
del case

if __name__ == "__main__":
    os.environ["DEMO_SERVER"]
    unittest.main()
