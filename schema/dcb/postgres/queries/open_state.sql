-- The row of a boundary, inserted with the generation $4 if it is missing. $1 name, $2 version,
-- $3 boundary. No row if another boundary has the same key, or if another session inserts the row now.
WITH new AS (
    INSERT INTO dcb.kept_state (name, version, key, boundary, generation)
    VALUES ($1, $2, hashtextextended($3, 0), $3, $4)
        ON CONFLICT ON CONSTRAINT kept_state_pkey DO NOTHING
    RETURNING generation
)
SELECT generation, NULL::text, NULL::text FROM new
UNION ALL
SELECT generation, bookmark, state FROM dcb.kept_state
 WHERE name = $1 AND version = $2 AND key = hashtextextended($3, 0) AND boundary = $3
