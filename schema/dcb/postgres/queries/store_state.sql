-- Stores the bookmark $6 and the state $7 in a row that has the generation $4 and the bookmark $5. Deletes
-- at most $8 rows of lower versions. $1 name, $2 version, $3 boundary. Returns a row if it was stored.
WITH old AS (
    DELETE FROM dcb.kept_state
     WHERE ctid = ANY (ARRAY(SELECT k.ctid FROM dcb.kept_state k
                              WHERE k.name = $1 AND k.version < $2 LIMIT $8 FOR UPDATE SKIP LOCKED))
)
UPDATE dcb.kept_state SET bookmark = $6, state = $7, stored_at = now()
 WHERE name = $1 AND version = $2 AND key = hashtextextended($3, 0) AND boundary = $3
   AND generation = $4 AND bookmark IS NOT DISTINCT FROM $5
RETURNING true
