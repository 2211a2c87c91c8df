"""Tests the client message-db-py as its documentation uses it. The argument is the URL."""

import sys

from message_db.client import MessageDB

store = MessageDB.from_url(sys.argv[1])

assert store.write("account-1", "Opened", {"owner": "Ada"}) == 0
assert store.write("account-1", "Deposited", {"amount": 11}, {"by": "test"}, 0) == 1
batch = [("Deposited", {"amount": 2}), ("Withdrawn", {"amount": 3}, {"by": "test"})]
assert store.write_batch("account-1", batch, expected_version=1) == 3
store.write("account-2", "Opened", {"owner": "Grace"})

try:
    store.write("account-1", "Opened", {}, expected_version=7)
except ValueError as error:
    expected = "P0001-ERROR:  Wrong expected version: 7 (Stream: account-1, Stream Version: 3)"
    assert str(error) == expected, error
else:
    raise AssertionError("a wrong expected version was accepted")

messages = store.read_stream("account-1")
assert [message["position"] for message in messages] == [0, 1, 2, 3]
assert messages[1]["data"] == {"amount": 11} and messages[1]["metadata"] == {"by": "test"}
assert len(store.read_stream("account-1", position=1, no_of_messages=2)) == 2

category = store.read_category("account")
positions = [message["global_position"] for message in category]
assert len(category) == 5 and positions == sorted(positions)
assert store.read("account", no_of_messages=1) == category[:1]
members = [store.read_category("account", consumer_group_member=m, consumer_group_size=2) for m in (0, 1)]
assert sorted(message["id"] for member in members for message in member) == sorted(
    message["id"] for message in category
)
assert store.read_last_message("account-1")["type"] == "Withdrawn"

# The notices that the debug settings turn on.
connection = store.connection_pool.get_connection()
with connection, connection.cursor() as cursor:
    for setting, call in [
        ("debug_write", "write_message(gen_random_uuid()::varchar, 'noticed-1', 'T', '{}')"),
        ("debug_get", "get_stream_messages('noticed-1')"),
        ("debug_get", "get_category_messages('noticed')"),
        ("debug_get", "get_last_stream_message('noticed-1')"),
        ("debug", "acquire_lock('noticed-1')"),
    ]:
        for value in ("off", "on"):
            connection.notices.clear()
            cursor.execute(f"SET message_store.{setting} TO {value}")
            cursor.execute(f"SELECT message_store.{call}")
            function = call.partition("(")[0]
            traced = any(f"» {function}" in notice for notice in connection.notices)
            assert traced == (value == "on"), (setting, value, call, connection.notices)
        cursor.execute(f"SET message_store.{setting} TO off")
