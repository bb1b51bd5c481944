-- The operator that a message needs, for servers that run tasks of some operators only; '' is for all. Servers of before send
-- all of theirs so.
ALTER TABLE queued_messages ADD COLUMN task_type bytea NOT NULL DEFAULT '';
CREATE INDEX messages_of_type ON queued_messages (task_type, free_at, id) WHERE queue = 2 AND free_at IS NOT NULL;
