-- The state of a boundary. $1 name, $2 version, $3 boundary.
SELECT bookmark, state FROM dcb.kept_state
 WHERE name = $1 AND version = $2 AND key = hashtextextended($3, 0) AND boundary = $3
   AND state IS NOT NULL
