-- Which sessions retention has removed: what starts by itself must not run them again.
CREATE TABLE forgotten_sessions (
  project_id INTEGER NOT NULL,
  workflow_name TEXT NOT NULL,
  session_time INTEGER NOT NULL,
  PRIMARY KEY (project_id, workflow_name, session_time)
) STRICT, WITHOUT ROWID;
