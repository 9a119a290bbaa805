-- Whether a decision counts as the operator's, settled when it is stored. NULL: the message decides
-- nothing, or it is from before, and counts by its sender's name.
ALTER TABLE messages ADD COLUMN decides boolean;
