-- Takes the log's lock until the transaction ends, as dcb.append does.
SELECT pg_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int)
