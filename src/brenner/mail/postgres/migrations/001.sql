-- The mail of one project. Times are microseconds since 1970, UTC. Texts are compared by their
-- bytes, as everywhere else in Brenner.

-- One row. Whoever writes locks it first, so that writers take turns.
CREATE TABLE store (
    brenner_format integer NOT NULL,
    -- How often somebody has written.
    turn           bigint NOT NULL,
    -- The time that was given last: times do not go back when the clock does, a little.
    last_time      bigint
);
INSERT INTO store VALUES (0, 0, NULL);

-- The latest turns, each with a mark of who took it. Whoever lost the connection while committing
-- looks here whether it was done.
CREATE TABLE turns (
    number bigint PRIMARY KEY,
    mark   text NOT NULL
);

CREATE TABLE agents (
    number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text COLLATE "C" NOT NULL UNIQUE,
    program       text NOT NULL,
    model         text NOT NULL,
    task          text NOT NULL,
    registered_at bigint NOT NULL
);

-- A thread's name may be of any length, which no tree of keys can take.
CREATE TABLE threads (
    number   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    first_at bigint NOT NULL,
    last_at  bigint NOT NULL,
    last_id  bigint NOT NULL,
    EXCLUDE USING hash (name WITH =)
);
CREATE INDEX threads_newest ON threads (last_at, last_id);

-- A row says by itself what the message says: names are repeated here, so that no change of any
-- other table changes a message.
CREATE TABLE messages (
    arrival      bigint PRIMARY KEY,
    id           bigint NOT NULL UNIQUE,
    at           bigint NOT NULL,
    thread       bigint NOT NULL REFERENCES threads,
    thread_id    text NOT NULL,
    sender       text NOT NULL,
    recipients   text NOT NULL,
    subject      text NOT NULL,
    body         text NOT NULL,
    ack_required boolean,
    hash         bytea NOT NULL,
    origin_id    bigint NOT NULL,
    reply_to     bigint REFERENCES messages (id),
    acknowledges text NOT NULL,
    is_local     boolean NOT NULL
);
CREATE INDEX messages_in_thread ON messages (thread, at, id);
CREATE INDEX messages_arrived ON messages (thread, arrival);
CREATE INDEX messages_by_origin ON messages (origin_id, hash);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a stored message never changes' USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER messages_never_change BEFORE UPDATE OR DELETE OR TRUNCATE ON messages
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE messages ENABLE ALWAYS TRIGGER messages_never_change;

-- Whoever waits for mail listens to the name of the schema.
CREATE FUNCTION tell_of_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify(TG_TABLE_SCHEMA, '');
    RETURN NULL;
END
$$;
CREATE TRIGGER messages_are_news AFTER INSERT ON messages
FOR EACH STATEMENT EXECUTE FUNCTION tell_of_news();

-- One row for each recipient. What does not change is repeated from the message, so that an inbox
-- is read in order from one index, however long it is.
CREATE TABLE deliveries (
    recipient       bigint NOT NULL REFERENCES agents,
    at              bigint NOT NULL,
    message         bigint NOT NULL REFERENCES messages (id),
    thread          bigint NOT NULL,
    type            text COLLATE "C",
    read_at         bigint,
    owes_ack        boolean NOT NULL,
    acknowledged_by bigint REFERENCES messages (id),
    arrival         bigint NOT NULL,
    PRIMARY KEY (recipient, at, message)
);
CREATE INDEX deliveries_of_message ON deliveries (message);
CREATE INDEX deliveries_by_type ON deliveries (recipient, type, at, message);
CREATE INDEX deliveries_by_thread ON deliveries (recipient, thread, at, message);
CREATE INDEX deliveries_unread ON deliveries (recipient, at, message) WHERE read_at IS NULL;
CREATE INDEX deliveries_owed ON deliveries (recipient, at, message) WHERE owes_ack;
CREATE INDEX deliveries_unread_arrived ON deliveries (recipient, arrival) WHERE read_at IS NULL;
CREATE INDEX deliveries_owed_arrived ON deliveries (recipient, arrival) WHERE owes_ack;
CREATE INDEX deliveries_owed_in_thread ON deliveries (thread) WHERE owes_ack;

CREATE TABLE keys (
    sender  bigint NOT NULL REFERENCES agents,
    key     text COLLATE "C" NOT NULL,
    message bigint NOT NULL REFERENCES messages (id),
    PRIMARY KEY (sender, key)
);

-- The times of each thousand arrivals, so that a search for a time knows where not to look.
CREATE TABLE spans (
    number   bigint PRIMARY KEY,
    first_at bigint NOT NULL,
    last_at  bigint NOT NULL
);

-- Filled with words that are taken apart already (mail/words.py). The words find candidates, the
-- folded text decides: subject, body and tags in a line each, a blank around every word.
CREATE TABLE search (
    arrival bigint PRIMARY KEY REFERENCES messages,
    words   tsvector NOT NULL,
    folded  text COLLATE "C" NOT NULL
);
CREATE INDEX search_words ON search USING gin (words);

-- What was worked out from the mail and would take long to work out again. Nothing is lost with it.
CREATE TABLE kept (
    name    text COLLATE "C" NOT NULL,
    content text NOT NULL,
    EXCLUDE USING hash (name WITH =)
);
