-- Empties the log. Sent as one message, so it is one transaction. The lock comes first, as in
-- dcb.append. TRUNCATE and not DELETE: every search for the head would step over deleted rows until a
-- vacuum.
SELECT pg_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int);
TRUNCATE dcb.event, dcb.event_tag, dcb.tracking, dcb.command, dcb.kept_state;
SELECT pg_notify(trim('"' FROM left('dcb.event', -6)), '') WHERE pg_notification_queue_usage() < 0.5
