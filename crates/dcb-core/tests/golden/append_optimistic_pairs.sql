WITH last AS MATERIALIZED (SELECT CASE WHEN pg_try_advisory_xact_lock(1145262642, '"log".event'::regclass::oid::int) AND (SELECT e.id FROM "log".event e
WHERE e.position = ($1::bigint[])[1]) = ($2::uuid[])[1] AND (SELECT 1
FROM ( SELECT ($11::bigint[])[o.probe] AS after, ($12::bigint[])[o.probe] AS key, ($13::bigint[])[o.probe] AS other FROM unnest($10::int[]) o(probe)) p
WHERE CASE WHEN p.after > ($1::bigint[])[1] THEN 1 ELSE (SELECT CASE WHEN count(*) = 0 THEN NULL WHEN p.other IS NULL THEN 1 WHEN count(*) = 11 THEN (SELECT CASE WHEN count(*) = 0 THEN NULL WHEN p.key IS NULL THEN 1 WHEN count(*) = 11 THEN 1 WHEN count((SELECT u.position FROM "log".event_tag u
WHERE u.position = t.position AND u.key = p.key | (t.key & 16777215))) > 0 THEN 1 END
FROM (SELECT t.key, t.position FROM "log".event_tag t
WHERE (t.key, t.position) > (p.other, p.after) AND t.key <= p.other | CASE p.other & 16777215 WHEN 0 THEN 16777215 ELSE 0 END
ORDER BY t.key, t.position LIMIT 11) t) WHEN count((SELECT u.position FROM "log".event_tag u
WHERE u.position = t.position AND u.key = p.other | (t.key & 16777215))) > 0 THEN 1 END
FROM (SELECT t.key, t.position FROM "log".event_tag t
WHERE (t.key, t.position) > (p.key, p.after) AND t.key <= p.key | CASE p.key & 16777215 WHEN 0 THEN 16777215 ELSE 0 END
ORDER BY t.key, t.position LIMIT 11) t) END IS NOT NULL LIMIT 1) IS NULL THEN pg_try_advisory_xact_lock(1145262644, '"log".event'::regclass::oid::int) OR pg_notify(trim('"' FROM left('"log".event', -6)), '') IS NOT NULL END AS is_it), inserted_tags AS ( INSERT INTO "log".event_tag (key, position) SELECT u.key, ($1::bigint[])[1] + u.event
FROM (SELECT unnest($8::int[]) AS event, unnest($9::bigint[]) AS key) u
WHERE (SELECT l.is_it FROM last l)) INSERT INTO "log".event (position, recorded_at, id, type, tags, metadata, data) SELECT ($1::bigint[])[1] + u.ordinal, statement_timestamp(), u.id, u.type, u.tags::text[], u.metadata::json, u.data
FROM (SELECT generate_series(1, cardinality($3::uuid[])) AS ordinal, unnest($3::uuid[]) AS id, unnest($4::text[]) AS type, unnest($5::text[]) AS tags, unnest($6::text[]) AS metadata, unnest($7::bytea[]) AS data) u
WHERE (SELECT l.is_it FROM last l)
