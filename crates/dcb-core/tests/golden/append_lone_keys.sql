WITH inserted AS ( INSERT INTO "log".event (position, recorded_at, id, type, tags, metadata, data) SELECT $1::bigint + 1, statement_timestamp(), $3::uuid, $4::text, $5::text::text[], $6::text::json, $7::bytea
WHERE CASE WHEN pg_try_advisory_xact_lock(1145262642, '"log".event'::regclass::oid::int) AND (SELECT e.id FROM "log".event e
WHERE e.position = $1::bigint) = $2::uuid AND $9::bigint <= $1::bigint AND (SELECT t.position FROM "log".event_tag t
WHERE (t.key, t.position) > ($10::bigint, $9::bigint) AND t.key <= $10::bigint | CASE $10::bigint & 16777215 WHEN 0 THEN 16777215 ELSE 0 END
ORDER BY t.key, t.position LIMIT 1) IS NULL THEN pg_try_advisory_xact_lock(1145262644, '"log".event'::regclass::oid::int) OR pg_notify(trim('"' FROM left('"log".event', -6)), '') IS NOT NULL END RETURNING position) INSERT INTO "log".event_tag (key, position) SELECT unnest($8::bigint[]), i.position FROM inserted i
