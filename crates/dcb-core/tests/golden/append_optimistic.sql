WITH last AS MATERIALIZED (SELECT CASE WHEN pg_try_advisory_xact_lock(1145262642, '"log".event'::regclass::oid::int) AND (SELECT e.id FROM "log".event e
WHERE e.position = ($1::bigint[])[1]) = ($2::uuid[])[1] THEN pg_try_advisory_xact_lock(1145262644, '"log".event'::regclass::oid::int) OR pg_notify(trim('"' FROM left('"log".event', -6)), '') IS NOT NULL END AS is_it), inserted_tags AS ( INSERT INTO "log".event_tag (key, position) SELECT u.key, ($1::bigint[])[1] + u.event
FROM (SELECT unnest($8::int[]) AS event, unnest($9::bigint[]) AS key) u
WHERE (SELECT l.is_it FROM last l)) INSERT INTO "log".event (position, recorded_at, id, type, tags, metadata, data) SELECT ($1::bigint[])[1] + u.ordinal, statement_timestamp(), u.id, u.type, u.tags::text[], u.metadata::json, u.data
FROM (SELECT generate_series(1, cardinality($3::uuid[])) AS ordinal, unnest($3::uuid[]) AS id, unnest($4::text[]) AS type, unnest($5::text[]) AS tags, unnest($6::text[]) AS metadata, unnest($7::bytea[]) AS data) u
WHERE (SELECT l.is_it FROM last l)
