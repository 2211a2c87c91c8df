-- Stores the times that events of a batch bring from another log, in the same statement as dcb.append,
-- which gives every event the time of the commit. Appends without such times, nearly all, pay nothing.
-- head and refused are the results of dcb.append, event_request is its argument. timed_event is the number
-- of an event in the batch. Returns the number of stored times.
--
-- An array has the number of each event among the accepted ones, 0 if it is refused. The sessions of a store
-- have neither hash joins nor merge joins, so a join of the batch with itself would compare each event with
-- each other.
CREATE OR REPLACE FUNCTION dcb.keep_times(
    head bigint, refused int[], event_request int[], timed_event int[], timed_at timestamptz[]
) RETURNS bigint
LANGUAGE sql VOLATILE
SET enable_seqscan = off
AS $$
    WITH kept AS (
        UPDATE dcb.event e SET recorded_at = t.time
          FROM (SELECT u.time, head + (ARRAY(
                    SELECT CASE WHEN o.accepted
                                THEN count(*) FILTER (WHERE o.accepted) OVER (ORDER BY r.ordinal)
                                ELSE 0 END
                      FROM unnest(event_request) WITH ORDINALITY r(request, ordinal)
                     CROSS JOIN LATERAL (
                        SELECT refused IS NULL OR r.request <> ALL (refused) AS accepted) o
                     ORDER BY r.ordinal))[u.event] AS position
                  FROM unnest(timed_event, timed_at) u(event, time)) t
         WHERE e.position = t.position AND t.position > head
        RETURNING 1
    )
    SELECT count(*) FROM kept
$$;
