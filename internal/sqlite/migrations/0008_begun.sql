-- Which run the last receiver of a message that began one has begun (host.Marker): a crash counts against that run alone.
ALTER TABLE queued_messages ADD COLUMN begun TEXT NOT NULL DEFAULT '';
