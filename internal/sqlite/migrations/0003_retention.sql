-- Which sessions retention has removed: what starts by itself must not run them again.
CREATE TABLE forgotten_sessions (
  project_id INTEGER NOT NULL,
  workflow_name TEXT NOT NULL,
  session_time INTEGER NOT NULL,
  PRIMARY KEY (project_id, workflow_name, session_time)
) STRICT, WITHOUT ROWID;

-- What retention knows of the archive of a revision (host.ArchiveState); NULL is nothing.
ALTER TABLE revisions ADD COLUMN archive_state TEXT;
