-- Writes a batch of requests in one transaction. Each request is written completely or refused. An
-- addition to the interface of Message DB; clients may call write_message at the same time.
--
-- lock_keys  the lock keys of all categories, sorted, without duplicates
-- entry_*    one row per stream of each request: request is the number of the request, from 1; lock
--            the key of the category; expected the expected version, NULL for any and -1 for no
--            stream. Only the first row of a stream may have an expected version.
-- message_*  the messages in order: entry is the number of the row in entry_*, from 1; place the
--            number of the message within its stream and this batch, from 1
-- known_*    the ids that callers chose, which may be stored already; NULL for none
-- patient    whether to wait for locks. Otherwise a request whose category is locked by another
--            transaction is refused.
-- channel    the channel to notify if messages were written, NULL for none
--
-- Returns the version of each row's stream before the batch (-1 for no stream, undefined if the
-- category is locked), the global positions of the accepted messages in order, and for each refused
-- request its number and the first reason (1 category locked, 2 id stored, 3 other version).
--
-- Locks are taken before the statements that read, so that these see everything committed under the
-- locks before. This requires READ COMMITTED. Functions called for their effect are assigned to a
-- variable, because evaluating an expression costs a tenth of PERFORM, which runs a statement.
CREATE FUNCTION message_store.write_batch(
    lock_keys bigint[],
    entry_request int[], entry_stream text[], entry_lock bigint[], entry_expected bigint[],
    message_entry int[], message_place int[], message_id uuid[], message_type text[],
    message_data text[], message_metadata text[],
    known_request int[], known_id uuid[], patient boolean, channel text,
    OUT versions bigint[], OUT global_positions bigint[], OUT refused int[], OUT reasons int[]
) LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    lock_key bigint;
    locked   bigint[]; -- by other transactions
    differs  boolean;  -- whether any stream has another version than expected
    places   int[] := message_place; -- 0 for a message of a refused request
    done     boolean;
    one      record;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM message_store.require_read_committed();
    END IF;
    -- A single message, the usual case of a lone caller, needs no set operations.
    IF cardinality(message_id) = 1 AND cardinality(entry_lock) = 1
       AND (known_id IS NULL OR known_id = message_id) THEN
        one := message_store.write_one(
            entry_stream[1], entry_lock[1], entry_expected[1], message_id[1], message_type[1],
            message_data[1], message_metadata[1], known_id[1] IS NOT NULL, patient);
        versions := ARRAY[one.version];
        IF one.reason IS NULL THEN
            global_positions := ARRAY[one.global_position];
            IF channel IS NOT NULL THEN
                PERFORM pg_notify(channel, '');
            END IF;
        ELSE
            refused := entry_request;
            reasons := ARRAY[one.reason];
        END IF;
        RETURN;
    END IF;
    FOREACH lock_key IN ARRAY lock_keys LOOP
        IF patient THEN
            done := pg_advisory_xact_lock(lock_key) IS NOT NULL;
        ELSIF NOT pg_try_advisory_xact_lock(lock_key) THEN
            locked := locked || lock_key;
        END IF;
    END LOOP;
    done := message_store.announce() IS NOT NULL;

    SELECT coalesce(array_agg(v.version ORDER BY e.ordinal), '{}'), bool_or(e.expected <> v.version)
      INTO versions, differs
      FROM unnest(entry_stream, entry_expected) WITH ORDINALITY e(stream, expected, ordinal)
     CROSS JOIN LATERAL (
        SELECT coalesce((SELECT m.position FROM message_store.messages m
                          WHERE m.stream_name = e.stream ORDER BY m.position DESC LIMIT 1), -1)
               AS version OFFSET 0) v;

    IF differs OR locked IS NOT NULL OR known_id IS NOT NULL THEN
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
    END IF;
    IF refused IS NOT NULL THEN
        places := ARRAY(
            SELECT CASE WHEN a.accepted
                   THEN count(*) FILTER (WHERE a.accepted) OVER (PARTITION BY a.stream ORDER BY a.ordinal)
                   ELSE 0 END
              FROM (SELECT entry_stream[u.entry] AS stream, u.ordinal,
                           entry_request[u.entry] <> ALL (refused) AS accepted
                      FROM unnest(message_entry) WITH ORDINALITY u(entry, ordinal)) a
             ORDER BY a.ordinal);
    END IF;

    WITH inserted AS (
        INSERT INTO message_store.messages (position, stream_name, type, data, metadata, id)
        SELECT versions[u.entry] + u.place, entry_stream[u.entry], u.type,
               u.data::jsonb, u.metadata::jsonb, u.id
          FROM unnest(message_entry, places, message_type, message_data, message_metadata, message_id)
               u(entry, place, type, data, metadata, id)
         WHERE u.place > 0
        RETURNING global_position
    )
    SELECT array_agg(i.global_position ORDER BY i.global_position) INTO global_positions
      FROM inserted i;
    IF channel IS NOT NULL AND global_positions IS NOT NULL THEN
        PERFORM pg_notify(channel, '');
    END IF;
END
$$;
