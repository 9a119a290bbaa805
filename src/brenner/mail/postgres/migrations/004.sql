-- Whether a call that writes has carried the secret: from then on nothing is written without it.
-- Names from before are protected by their next such call.
ALTER TABLE secrets ADD COLUMN is_protected boolean NOT NULL DEFAULT false;
