-- Appends a batch, and stores the commands of its accepted requests.
SELECT head, refused, reasons, positions,
       dcb.keep_commands(head, refused, $1, $22, $23, $24, $25)
  FROM dcb.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
                  $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
