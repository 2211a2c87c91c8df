-- Writes a batch of requests in one transaction: each whole, or refused and nothing of it written.
-- Beside the interface of Message DB, and safe beside its write_message.
--
-- entry_*    a row for each stream of each request: request numbers the requests of the batch from 1,
--            no stream is there twice with an expected version after its first row; lock is the
--            category's key, expected NULL for any version and -1 for no stream
-- message_*  the messages in order; entry numbers the rows of entry_* from 1
-- known_*    the ids that callers chose themselves, which may be stored already
-- patient    whether to wait for the locks; else a request with a category that another
--            transaction writes to is refused
-- channel    whom to notify where something was written, NULL for nobody
--
-- Returns the version of each row's stream before the batch (-1: no stream; not known where the
-- category is locked); the global positions of
-- the accepted messages in order; for each refused request its number and the first reason that
-- holds (1 a category is locked, 2 an id is stored, 3 another version).
--
-- Locks are taken in the order of their keys, in statements of their own: those that follow then see
-- all that was committed before. That needs READ COMMITTED.
CREATE FUNCTION message_store.write_batch(
    entry_request int[], entry_stream text[], entry_lock bigint[], entry_expected bigint[],
    message_entry int[], message_id uuid[], message_type text[], message_data text[],
    message_metadata text[],
    known_request int[], known_id uuid[], patient boolean, channel text,
    OUT versions bigint[], OUT global_positions bigint[], OUT refused int[], OUT reasons int[]
) LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    lock_key bigint;
    locked   bigint[]; -- by other transactions
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM message_store.require_read_committed();
    END IF;
    -- One message alone, the usual case of a single caller, needs no sets.
    IF cardinality(message_id) = 1 AND cardinality(entry_lock) = 1
       AND (known_id = '{}' OR known_id = message_id) THEN
        SELECT ARRAY[w.version], CASE WHEN w.reason IS NULL THEN ARRAY[w.global_position] END,
               CASE WHEN w.reason IS NOT NULL THEN entry_request END,
               CASE WHEN w.reason IS NOT NULL THEN ARRAY[w.reason] END
          INTO versions, global_positions, refused, reasons
          FROM message_store.write_one(
                 entry_stream[1], entry_lock[1], entry_expected[1], message_id[1], message_type[1],
                 message_data[1], message_metadata[1], known_id[1] IS NOT NULL, patient) w;
        IF channel IS NOT NULL AND refused IS NULL THEN
            PERFORM pg_notify(channel, '');
        END IF;
        RETURN;
    END IF;
    FOR lock_key IN SELECT DISTINCT k FROM unnest(entry_lock) k ORDER BY k LOOP
        IF patient THEN
            PERFORM pg_advisory_xact_lock(lock_key);
        ELSIF NOT pg_try_advisory_xact_lock(lock_key) THEN
            locked := locked || lock_key;
        END IF;
    END LOOP;
    PERFORM message_store.announce();

    versions := ARRAY(
        SELECT coalesce((SELECT m.position FROM message_store.messages m
                          WHERE m.stream_name = e.stream ORDER BY m.position DESC LIMIT 1), -1)
          FROM unnest(entry_stream) WITH ORDINALITY e(stream, ordinal)
         ORDER BY e.ordinal);

    SELECT array_agg(r.request), array_agg(r.reason) INTO refused, reasons
      FROM (SELECT f.request, min(f.reason) AS reason
              FROM (SELECT e.request, CASE WHEN e.lock = ANY (locked) THEN 1 ELSE 3 END AS reason
                      FROM unnest(entry_request, entry_lock, entry_expected, versions)
                           e(request, lock, expected, version)
                     WHERE e.lock = ANY (locked) OR e.expected <> e.version
                    UNION ALL
                    SELECT k.request, 2
                      FROM unnest(known_request, known_id) k(request, id)
                     WHERE (SELECT m.position FROM message_store.messages m
                             WHERE m.id = k.id LIMIT 1) IS NOT NULL) f
             GROUP BY f.request) r;

    WITH accepted AS (
        SELECT e.version + row_number() OVER (PARTITION BY e.stream ORDER BY u.ordinal) AS position,
               e.stream, u.type, u.data::jsonb AS data, u.metadata::jsonb AS metadata, u.id, u.ordinal
          FROM unnest(message_entry, message_id, message_type, message_data, message_metadata)
               WITH ORDINALITY u(entry, id, type, data, metadata, ordinal)
         CROSS JOIN LATERAL (SELECT entry_request[u.entry] AS request, entry_stream[u.entry] AS stream,
                                    versions[u.entry] AS version) e
         WHERE refused IS NULL OR e.request <> ALL (refused)
    ), inserted AS (
        INSERT INTO message_store.messages (position, stream_name, type, data, metadata, id)
        SELECT a.position, a.stream, a.type, a.data, a.metadata, a.id
          FROM accepted a ORDER BY a.ordinal
        RETURNING global_position
    )
    SELECT array_agg(i.global_position ORDER BY i.global_position) INTO global_positions
      FROM inserted i;
    IF channel IS NOT NULL AND global_positions IS NOT NULL THEN
        PERFORM pg_notify(channel, '');
    END IF;
END
$$;
