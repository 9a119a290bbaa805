-- What was worked out from the mail and would take long to work out again. Nothing is lost with it.
CREATE TABLE kept (
    name    TEXT PRIMARY KEY,
    content TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A thread in the order in which its messages came in: the arrival is the row's number.
CREATE INDEX messages_arrived ON messages (thread);
