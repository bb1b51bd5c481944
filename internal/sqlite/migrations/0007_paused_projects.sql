-- Who lets nothing of a project start (host.Pause); without a time nobody does.
ALTER TABLE projects ADD COLUMN paused_at INTEGER;
ALTER TABLE projects ADD COLUMN paused_by TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN pause_reason TEXT NOT NULL DEFAULT '';
