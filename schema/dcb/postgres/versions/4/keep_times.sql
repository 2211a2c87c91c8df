-- Stores the times that events of a batch bring from another log, in the same statement as dcb.append,
-- which gives every event the time of the commit. Appends without such times, nearly all, pay nothing.
-- head and refused are the results of dcb.append, event_request is its argument. timed_event is the number
-- of an event in the batch. Returns the number of stored times.
CREATE OR REPLACE FUNCTION dcb.keep_times(
    head bigint, refused int[], event_request int[], timed_event int[], timed_at timestamptz[]
) RETURNS bigint
LANGUAGE sql VOLATILE
SET enable_seqscan = off
AS $$
    WITH accepted AS (
        SELECT u.ordinal, head + row_number() OVER (ORDER BY u.ordinal) AS position
          FROM unnest(event_request) WITH ORDINALITY u(request, ordinal)
         WHERE refused IS NULL OR u.request <> ALL (refused)
    ), kept AS (
        UPDATE dcb.event e SET recorded_at = t.time
          FROM unnest(timed_event, timed_at) t(event, time)
          JOIN accepted a ON a.ordinal = t.event
         WHERE e.position = a.position
        RETURNING 1
    )
    SELECT count(*) FROM kept
$$;
