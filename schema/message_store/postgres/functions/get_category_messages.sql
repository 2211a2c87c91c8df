-- The messages of a category from a global position on, in order. NULL means the default, and a
-- batch_size of -1 means no limit. With correlation, only messages whose correlationStreamName is in
-- that category. With a consumer group, only messages of the streams assigned to the member; a stream
-- without an id has no member, as in Message DB.
--
-- Category and position are compared as a row. With separate comparisons, the planner could walk over
-- all positions and filter by category.
CREATE FUNCTION message_store.get_category_messages(
    category varchar,
    "position" bigint DEFAULT 1,
    batch_size bigint DEFAULT 1000,
    correlation varchar DEFAULT NULL,
    consumer_group_member bigint DEFAULT NULL,
    consumer_group_size bigint DEFAULT NULL,
    condition varchar DEFAULT NULL
) RETURNS SETOF message_store.message
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    first_position bigint := coalesce("position", 1);
    row_limit      bigint := nullif(coalesce(batch_size, 1000), -1);
BEGIN
    IF NOT message_store.is_category(get_category_messages.category) THEN
        RAISE EXCEPTION 'Must be a category: %', get_category_messages.category;
    END IF;
    IF NOT message_store.is_category(correlation) THEN
        RAISE EXCEPTION 'Correlation must be a category (Correlation: %)', correlation;
    END IF;
    PERFORM message_store.check_consumer_group(consumer_group_member, consumer_group_size);
    IF message_store.setting_is_on('debug') OR message_store.setting_is_on('debug_get') THEN
        RAISE NOTICE '» get_category_messages';
        RAISE NOTICE 'category: %', get_category_messages.category;
        RAISE NOTICE 'position: %', first_position;
        RAISE NOTICE 'batch_size: %', coalesce(batch_size, 1000);
        RAISE NOTICE 'correlation: %', correlation;
        RAISE NOTICE 'consumer_group_member: %', consumer_group_member;
        RAISE NOTICE 'consumer_group_size: %', consumer_group_size;
        RAISE NOTICE 'condition: %', condition;
    END IF;
    IF correlation IS NULL AND condition IS NULL THEN
        RETURN QUERY
        SELECT m.id::varchar, m.stream_name::varchar, m.type::varchar, m.position,
               m.global_position, m.data::varchar, m.metadata::varchar, m.time
          FROM message_store.messages m
         WHERE (message_store.category(m.stream_name), m.global_position)
               >= (get_category_messages.category, first_position)
           AND message_store.category(m.stream_name) <= get_category_messages.category
           AND (consumer_group_size IS NULL
                OR abs(message_store.hash_64(message_store.cardinal_id(m.stream_name)))
                   % consumer_group_size = consumer_group_member)
         ORDER BY message_store.category(m.stream_name), m.global_position
         LIMIT row_limit;
        RETURN;
    END IF;
    IF condition IS NOT NULL THEN
        PERFORM message_store.require_sql_condition();
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT id::varchar, stream_name::varchar, type::varchar, position,
                global_position, data::varchar, metadata::varchar, time
           FROM message_store.messages
          WHERE (message_store.category(stream_name), global_position) >= ($1, $2)
            AND message_store.category(stream_name) <= $1
            AND ($4 IS NULL
                 OR message_store.category(metadata->>''correlationStreamName'') = $4)
            AND ($6 IS NULL
                 OR abs(message_store.hash_64(message_store.cardinal_id(stream_name))) %% $6 = $5)
            AND (%s)
          ORDER BY message_store.category(stream_name), global_position
          LIMIT $3', coalesce(condition, 'true'))
    USING get_category_messages.category, first_position, row_limit, correlation,
          consumer_group_member, consumer_group_size;
END
$$;
