-- The mail of one project. Times are microseconds since 1970, UTC.

CREATE TABLE store (
    -- The time that was given last: times do not go back when the clock does, a little.
    last_time INTEGER
) STRICT;
INSERT INTO store VALUES (NULL);

CREATE TABLE agents (
    number        INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    program       TEXT NOT NULL,
    model         TEXT NOT NULL,
    task          TEXT NOT NULL,
    registered_at INTEGER NOT NULL
) STRICT;

CREATE TABLE threads (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    position INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    last_id  INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_newest ON threads (last_at, last_id);

-- A row says by itself what the message says: names are repeated here, so that no change of any
-- other table changes a message.
CREATE TABLE messages (
    arrival      INTEGER PRIMARY KEY,
    id           INTEGER NOT NULL UNIQUE,
    at           INTEGER NOT NULL,
    thread       INTEGER NOT NULL REFERENCES threads,
    thread_id    TEXT NOT NULL,
    sender       TEXT NOT NULL,
    recipients   TEXT NOT NULL,
    subject      TEXT NOT NULL,
    body         TEXT NOT NULL,
    ack_required INTEGER,
    hash         BLOB NOT NULL,
    origin_id    INTEGER NOT NULL,
    reply_to     INTEGER REFERENCES messages (id),
    acknowledges TEXT NOT NULL,
    is_local     INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_in_thread ON messages (thread, at, id);
CREATE INDEX messages_by_origin ON messages (origin_id, hash);

CREATE TRIGGER messages_never_change BEFORE UPDATE ON messages
BEGIN SELECT RAISE(ABORT, 'a stored message never changes'); END;
CREATE TRIGGER messages_are_never_replaced BEFORE INSERT ON messages
WHEN EXISTS (
    SELECT 1 FROM messages
    WHERE arrival = NEW.arrival OR id = NEW.id
)
BEGIN SELECT RAISE(ABORT, 'a stored message is never replaced'); END;
CREATE TRIGGER messages_never_go BEFORE DELETE ON messages
BEGIN SELECT RAISE(ABORT, 'a stored message is never deleted'); END;

-- One row for each recipient. What does not change is repeated from the message, so that an inbox
-- is read in order from one index, however long it is.
CREATE TABLE deliveries (
    recipient       INTEGER NOT NULL REFERENCES agents,
    at              INTEGER NOT NULL,
    message         INTEGER NOT NULL REFERENCES messages (id),
    thread          INTEGER NOT NULL,
    type            TEXT,
    read_at         INTEGER,
    owes_ack        INTEGER NOT NULL,
    acknowledged_by INTEGER REFERENCES messages (id),
    arrival         INTEGER NOT NULL,
    PRIMARY KEY (recipient, at, message)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_of_message ON deliveries (message);
CREATE INDEX deliveries_by_type ON deliveries (recipient, type, at, message);
CREATE INDEX deliveries_by_thread ON deliveries (recipient, thread, at, message);
CREATE INDEX deliveries_unread ON deliveries (recipient, at, message) WHERE read_at IS NULL;
CREATE INDEX deliveries_owed ON deliveries (recipient, at, message) WHERE owes_ack;
CREATE INDEX deliveries_unread_arrived ON deliveries (recipient, arrival) WHERE read_at IS NULL;
CREATE INDEX deliveries_owed_arrived ON deliveries (recipient, arrival) WHERE owes_ack;
CREATE INDEX deliveries_owed_in_thread ON deliveries (thread) WHERE owes_ack;

CREATE TABLE keys (
    sender  INTEGER NOT NULL REFERENCES agents,
    key     TEXT NOT NULL,
    message INTEGER NOT NULL REFERENCES messages (id),
    PRIMARY KEY (sender, key)
) STRICT, WITHOUT ROWID;

-- The times of each thousand arrivals, so that a search for a time knows where not to look.
CREATE TABLE spans (
    number   INTEGER PRIMARY KEY,
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
) STRICT;

-- Filled with words that are taken apart already (mail/words.py): letters, digits and § only.
-- The rowid is the message's arrival.
CREATE VIRTUAL TABLE search USING fts5 (
    subject, body, tags, content = '', columnsize = 0, tokenize = 'ascii'
);
