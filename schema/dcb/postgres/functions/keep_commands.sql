-- Keeps the commands of a batch that dcb.append has just appended, in the same statement: those of
-- the requests that were accepted. head and refused are what it returned, event_request what it was
-- given; command_* have a row for each request with a command. Returns how many were kept.
CREATE FUNCTION dcb.keep_commands(
    head bigint, refused int[], event_request int[],
    command_request int[], command_type text[], command_metadata text[], command_data bytea[]
) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    WITH accepted AS (
        SELECT u.request, head + row_number() OVER (ORDER BY u.ordinal) AS position
          FROM unnest(event_request) WITH ORDINALITY u(request, ordinal)
         WHERE refused IS NULL OR u.request <> ALL (refused)
    ), kept AS (
        INSERT INTO dcb.command (position, events, type, metadata, data)
        SELECT min(a.position), count(*), c.type, c.metadata::json, c.data
          FROM unnest(command_request, command_type, command_metadata, command_data)
               c(request, type, metadata, data)
          JOIN accepted a USING (request)
         GROUP BY c.request, c.type, c.metadata, c.data
        RETURNING 1
    )
    SELECT count(*) FROM kept
$$;
