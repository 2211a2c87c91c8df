SELECT position FROM "log".tracking
WHERE source = $1
