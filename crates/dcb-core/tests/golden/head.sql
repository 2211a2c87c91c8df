SELECT max(position) FROM "log".event
