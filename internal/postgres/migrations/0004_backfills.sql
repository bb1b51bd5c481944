-- Sessions of workflows that are started as one thing (host.Backfills).
CREATE TABLE backfills (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site_id bigint NOT NULL,
  project_id bigint NOT NULL,
  project_name bytea NOT NULL,
  workflow_definition_id bigint NOT NULL,
  workflow_name bytea NOT NULL,
  name bytea NOT NULL,             -- of the request
  plan bytea NOT NULL,             -- JSON; never changes
  state bytea NOT NULL,            -- JSON
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  finished_at bigint,
  version bigint NOT NULL DEFAULT 0,
  UNIQUE (project_id, workflow_name, name)
);
CREATE INDEX backfills_of_site ON backfills (site_id, id);
CREATE INDEX backfills_of_project ON backfills (project_id, id);
CREATE INDEX backfills_open ON backfills (id) WHERE finished_at IS NULL;
CREATE INDEX backfills_over ON backfills (finished_at) WHERE finished_at IS NOT NULL;
