-- Sessions of workflows that are started as one thing (host.Backfills).
CREATE TABLE backfills (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  site_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  project_name TEXT NOT NULL,
  workflow_definition_id INTEGER NOT NULL,
  workflow_name TEXT NOT NULL,
  name TEXT NOT NULL,             -- of the request
  plan TEXT NOT NULL,             -- JSON; never changes
  state TEXT NOT NULL,            -- JSON
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  version INTEGER NOT NULL DEFAULT 0,
  UNIQUE (project_id, workflow_name, name)
) STRICT;
CREATE INDEX backfills_of_site ON backfills (site_id, id);
CREATE INDEX backfills_of_project ON backfills (project_id, id);
CREATE INDEX backfills_open ON backfills (id) WHERE finished_at IS NULL;
CREATE INDEX backfills_over ON backfills (finished_at) WHERE finished_at IS NOT NULL;
