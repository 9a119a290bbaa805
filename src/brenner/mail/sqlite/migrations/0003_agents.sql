-- What stands on a message beside the protocol's own. Mail from before was written here, or
-- imported, which `is_local` tells.
ALTER TABLE messages ADD COLUMN importance TEXT NOT NULL DEFAULT 'normal';
ALTER TABLE messages ADD COLUMN cc TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN trust TEXT NOT NULL DEFAULT 'local';

-- Names that somebody has claimed. Of a secret only its digest is kept.
CREATE TABLE secrets (
    agent  INTEGER PRIMARY KEY REFERENCES agents,
    digest TEXT NOT NULL
) STRICT;

-- Files that agents are at work on.
CREATE TABLE reservations (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    agent       INTEGER NOT NULL REFERENCES agents,
    pattern     TEXT NOT NULL,
    exclusive   INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
) STRICT;
