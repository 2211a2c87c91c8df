-- Stores the commands of the accepted requests of a batch, in the same statement as dcb.append. head
-- and refused are the results of dcb.append, event_request is its argument. command_* have one row
-- per request with a command. Returns the number of stored commands.
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
