-- What stands on a message beside the protocol's own. Mail from before was written here, or
-- imported, which `is_local` tells.
ALTER TABLE messages ADD COLUMN importance text NOT NULL DEFAULT 'normal';
ALTER TABLE messages ADD COLUMN cc text NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN trust text NOT NULL DEFAULT 'local';

-- Names that somebody has claimed. Of a secret only its digest is kept.
CREATE TABLE secrets (
    agent  bigint PRIMARY KEY REFERENCES agents,
    digest text NOT NULL
);

-- Files that agents are at work on.
CREATE TABLE reservations (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent      bigint NOT NULL REFERENCES agents,
    pattern    text NOT NULL,
    exclusive  boolean NOT NULL,
    reason     text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
