-- Which run the last receiver of a message that began one has begun (host.Marker): the loss of a server counts against that run alone.
ALTER TABLE queued_messages ADD COLUMN begun bytea NOT NULL DEFAULT '';
