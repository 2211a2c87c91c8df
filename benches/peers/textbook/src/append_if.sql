CREATE TABLE event (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid,
    type text NOT NULL,
    tags text[] NOT NULL,
    data jsonb NOT NULL
);
CREATE INDEX event_tags ON event USING gin (tags);
CREATE INDEX event_type ON event (type, position);

-- Each item of the condition has one array of types and one of tags. Returns the position of the last
-- event, or NULL if the condition does not hold.
CREATE FUNCTION append_if(events jsonb, items jsonb, after bigint, under_lock boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    item jsonb;
    item_types text[];
    item_tags text[];
    last bigint;
BEGIN
    IF under_lock THEN
        PERFORM pg_advisory_xact_lock(1);
    END IF;
    FOR item IN SELECT jsonb_array_elements(items) LOOP
        item_types := ARRAY(SELECT jsonb_array_elements_text(item -> 'types'));
        item_tags := ARRAY(SELECT jsonb_array_elements_text(item -> 'tags'));
        PERFORM 1 FROM event e
        WHERE e.position > after AND e.tags @> item_tags
          AND (item_types = '{}' OR e.type = ANY (item_types))
        LIMIT 1;
        IF FOUND THEN
            RETURN NULL;
        END IF;
    END LOOP;
    WITH inserted AS (
        INSERT INTO event (id, type, tags, data)
        SELECT (e ->> 'id')::uuid, e ->> 'type',
            ARRAY(SELECT jsonb_array_elements_text(e -> 'tags')), e -> 'data'
        FROM jsonb_array_elements(events) WITH ORDINALITY AS given (e, number)
        ORDER BY number
        RETURNING position
    )
    SELECT max(position) INTO last FROM inserted;
    RETURN last;
END $$;
