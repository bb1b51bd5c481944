-- Who lets nothing of a project start (host.Pause); without a time nobody does. Servers of before start attempts all the same.
ALTER TABLE projects ADD COLUMN paused_at bigint;
ALTER TABLE projects ADD COLUMN paused_by bytea NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN pause_reason bytea NOT NULL DEFAULT '';
