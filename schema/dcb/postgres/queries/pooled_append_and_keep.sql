-- append_and_keep.sql behind a pooler: also returns the server process and the start of its transaction.
SELECT head, refused, reasons, positions,
       pg_backend_pid() AS pid, extract(epoch FROM now())::text AS began,
       dcb.keep_commands(head, refused, $1, $22, $23, $24, $25),
       CASE WHEN $26 IS NOT NULL THEN dcb.keep_times(head, refused, $1, $26, $27) END
  FROM dcb.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                  $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
