-- Times are microseconds since 1970 UTC; NULL is "not yet". Texts are bytea, as they came: PostgreSQL's own text takes
-- no NUL and no broken UTF-8, and sorts by the rules of a language. convert_from(name, 'UTF8') shows one.

CREATE TABLE projects (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site_id bigint NOT NULL,
  name bytea,                     -- NULL once deleted
  deleted_name bytea,
  created_at bigint NOT NULL,
  deleted_at bigint,
  latest_revision_id bigint NOT NULL DEFAULT 0,
  paused_at bigint,               -- who lets nothing of it start (host.Pause); without a time nobody does
  paused_by bytea NOT NULL DEFAULT '',
  pause_reason bytea NOT NULL DEFAULT '',
  UNIQUE (site_id, name)
);
CREATE INDEX projects_living ON projects (site_id, id) WHERE deleted_at IS NULL;

CREATE TABLE revisions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL REFERENCES projects (id),
  name bytea NOT NULL,
  archive_path bytea NOT NULL,
  archive_md5 bytea,
  created_at bigint NOT NULL,
  user_info bytea,                -- JSON
  archive_state bytea,            -- what retention knows of the archive (host.ArchiveState); NULL is nothing
  UNIQUE (project_id, name)
);
CREATE INDEX revisions_of_project ON revisions (project_id, id);

-- One row for each different text: pushing the same workflow again adds none.
CREATE TABLE workflow_configs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id bigint NOT NULL REFERENCES projects (id),
  config_digest bytea NOT NULL,   -- SHA-256 of the zone and the text
  timezone bytea NOT NULL,
  config bytea NOT NULL,          -- JSON
  UNIQUE (project_id, config_digest)
);

CREATE TABLE workflow_definitions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  revision_id bigint NOT NULL REFERENCES revisions (id),
  config_id bigint NOT NULL REFERENCES workflow_configs (id),
  name bytea NOT NULL,
  latest_site_id bigint,          -- the site, while this is what its living project runs
  UNIQUE (revision_id, name)
);
CREATE INDEX workflow_definitions_of_revision ON workflow_definitions (revision_id, id);
CREATE INDEX workflow_definitions_latest ON workflow_definitions (latest_site_id, id) WHERE latest_site_id IS NOT NULL;

CREATE TABLE schedules (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site_id bigint NOT NULL,
  project_id bigint NOT NULL REFERENCES projects (id),
  workflow_name bytea NOT NULL,
  workflow_definition_id bigint NOT NULL REFERENCES workflow_definitions (id),
  next_run_time bigint NOT NULL,
  next_schedule_time bigint NOT NULL,
  last_session_time bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  disabled_at bigint,
  UNIQUE (project_id, workflow_name)
);
CREATE INDEX schedules_of_site ON schedules (site_id, id);
CREATE INDEX schedules_due ON schedules (next_run_time, id) WHERE disabled_at IS NULL;

CREATE TABLE sessions (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site_id bigint NOT NULL,
  project_id bigint NOT NULL,     -- no project is ever removed, so no start need lock the row of its own
  workflow_name bytea NOT NULL,
  session_time bigint NOT NULL,
  session_uuid bytea NOT NULL,
  last_attempt_id bigint NOT NULL DEFAULT 0,
  attempts bigint NOT NULL DEFAULT 0,
  UNIQUE (project_id, workflow_name, session_time)
);
CREATE INDEX sessions_of_site ON sessions (site_id, id);
CREATE INDEX sessions_of_workflow ON sessions (project_id, workflow_name, id);
CREATE INDEX sessions_of_project ON sessions (project_id, id);

CREATE TABLE session_attempts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  session_id bigint NOT NULL REFERENCES sessions (id),
  site_id bigint NOT NULL,
  project_id bigint NOT NULL,
  workflow_name bytea NOT NULL,
  workflow_definition_id bigint NOT NULL,
  attempt_name bytea NOT NULL,    -- '' when the user gave none
  attempt_index bigint NOT NULL,
  state_flags bigint NOT NULL,    -- bits: see sqlstore.Canceled
  timezone bytea NOT NULL,
  params bytea NOT NULL,          -- JSON
  created_at bigint NOT NULL,
  finished_at bigint,
  retried boolean NOT NULL,       -- a later attempt of the session exists
  has_log boolean NOT NULL,       -- there are rows in attempt_entries
  dependent_session_id bigint,    -- the session that must be over before this starts
  labels bytea,                   -- JSON (host.Attempt); NULL is none
  UNIQUE (session_id, attempt_name)
);
CREATE INDEX attempts_of_site ON session_attempts (site_id, id);
CREATE INDEX attempts_of_project ON session_attempts (project_id, id);
CREATE INDEX attempts_of_workflow ON session_attempts (project_id, workflow_name, id);
CREATE INDEX attempts_active ON session_attempts (id) WHERE finished_at IS NULL;
CREATE INDEX attempts_active_of_site ON session_attempts (site_id, id) WHERE finished_at IS NULL;
CREATE INDEX attempts_imported ON session_attempts (id) WHERE state_flags & 64 <> 0;
CREATE INDEX attempts_waiting ON session_attempts (dependent_session_id, id) WHERE dependent_session_id IS NOT NULL;
CREATE INDEX attempts_to_expire ON session_attempts (finished_at) WHERE has_log AND finished_at IS NOT NULL;

CREATE TABLE attempt_archives (
  attempt_id bigint PRIMARY KEY,
  state bytea NOT NULL
);

-- The key is the lock of an attempt: who inserts a number first has written that entry.
CREATE TABLE attempt_entries (
  attempt_id bigint NOT NULL,
  seq bigint NOT NULL,
  nonce bytea NOT NULL,
  at bigint,
  changes bytea NOT NULL,
  events bytea,
  PRIMARY KEY (attempt_id, seq)
);
CREATE TABLE attempt_snapshots (
  attempt_id bigint NOT NULL,
  seq bigint NOT NULL,            -- of the entry up to which it holds
  state bytea NOT NULL,
  PRIMARY KEY (attempt_id, seq)
);

CREATE TABLE queued_messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- in the order sent: see the package's comment
  queue smallint NOT NULL,        -- 1 events, 2 tasks
  unique_name bytea NOT NULL,
  message_group bytea NOT NULL,   -- '' is none
  share bytea NOT NULL,
  due bigint,
  sent_at bigint NOT NULL,
  free_at bigint,                 -- from when on it can be received: when it is due, or its lease ends; NULL: it is behind another one of its group
  receipt bigint NOT NULL DEFAULT 0,                   -- of its lease; 0: nobody has it
  holder bytea NOT NULL DEFAULT '',                    -- the server that received it last
  receive_count bigint NOT NULL DEFAULT 0,
  body bytea NOT NULL,
  task_type bytea NOT NULL DEFAULT '',                 -- the operator that it needs, for servers that run tasks of some operators only; '' is for all
  begun bytea NOT NULL DEFAULT '',                     -- the run that the last receiver of the message has begun (host.Marker): the loss of a server counts against that run alone
  UNIQUE (queue, unique_name)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
CREATE INDEX messages_free ON queued_messages (queue, free_at, id) WHERE free_at IS NOT NULL;
CREATE INDEX messages_of_group ON queued_messages (queue, message_group, id) WHERE message_group <> '';
CREATE INDEX messages_in_order ON queued_messages (queue, id);
CREATE INDEX messages_of_type ON queued_messages (task_type, free_at, id) WHERE queue = 2 AND free_at IS NOT NULL;

CREATE TABLE secrets (
  site_id bigint NOT NULL,
  project_id bigint NOT NULL,
  scope bytea NOT NULL,
  engine bytea NOT NULL,
  key bytea NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (site_id, project_id, scope, key)
);

-- A key may be longer than an index takes.
CREATE TABLE params (
  site_id bigint NOT NULL,
  key_digest bytea NOT NULL,      -- SHA-256 of the key
  key bytea NOT NULL,
  value bytea NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (site_id, key_digest)
);

CREATE TABLE tokens (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site_id bigint NOT NULL,
  name bytea NOT NULL,
  role bytea NOT NULL,
  token_hash bytea NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used_at bigint,
  projects bytea -- names, separated by slashes; NULL: all
);
CREATE INDEX tokens_of_site ON tokens (site_id, id);

-- When users ended the sessions of their browsers: sessions that began until then are over.
CREATE TABLE ended_sessions (
  who bytea PRIMARY KEY,
  until bigint NOT NULL,
  forget_at bigint NOT NULL
);

CREATE TABLE audits (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  site_id bigint NOT NULL,
  who bytea NOT NULL,
  action bytea NOT NULL,
  target bytea NOT NULL,
  detail bytea,
  refused boolean NOT NULL,
  address bytea,
  credential bytea,
  request bytea
);
CREATE INDEX audits_of_site ON audits (site_id, id);

-- Which sessions retention has removed: what starts by itself must not run them again.
CREATE TABLE forgotten_sessions (
  project_id bigint NOT NULL,
  workflow_name bytea NOT NULL,
  session_time bigint NOT NULL,
  PRIMARY KEY (project_id, workflow_name, session_time)
);

-- Logs of tasks: each part is one or more whole members of the gzip file that they are together.
CREATE TABLE task_logs (
  attempt_id bigint NOT NULL,
  name bytea NOT NULL,            -- of the file
  part bigint NOT NULL,           -- from 1, without gaps
  content bytea NOT NULL,
  PRIMARY KEY (attempt_id, name, part)
);
ALTER TABLE task_logs ALTER COLUMN content SET STORAGE EXTERNAL; -- it is compressed

-- Archives of projects. One without a key is being put, or was never put whole.
CREATE TABLE blobs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key bytea UNIQUE,
  size bigint NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX blobs_unfinished ON blobs (created_at) WHERE key IS NULL;
CREATE TABLE blob_parts (
  blob_id bigint NOT NULL REFERENCES blobs (id) ON DELETE CASCADE,
  part bigint NOT NULL,           -- from 1, without gaps
  content bytea NOT NULL,
  PRIMARY KEY (blob_id, part)
);
ALTER TABLE blob_parts ALTER COLUMN content SET STORAGE EXTERNAL; -- it is compressed

-- Pools of slots that tasks share (host.Pools), who has the slots, and who waits for them.
CREATE TABLE pools (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  site_id bigint NOT NULL,
  project_id bigint NOT NULL,     -- 0: the pool belongs to the site
  name bytea NOT NULL,
  slots bigint NOT NULL,
  held boolean NOT NULL DEFAULT false,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  UNIQUE (site_id, project_id, name)
);
CREATE INDEX pools_of_site ON pools (site_id, id);

CREATE TABLE pool_slots (
  pool_id bigint NOT NULL,
  number bigint NOT NULL,         -- from 0
  holder bytea NOT NULL,
  taken_at bigint NOT NULL,
  PRIMARY KEY (pool_id, number)
);

-- In the order of the line.
CREATE TABLE pool_claims (
  pool_id bigint NOT NULL,
  rank bigint NOT NULL,           -- the priority, negated
  since bigint NOT NULL,          -- milliseconds since 1970
  holder bytea NOT NULL,
  slots bigint NOT NULL,
  PRIMARY KEY (pool_id, rank, since, holder)
);

-- Notifications that are not delivered yet, and those that were given up, for each channel (host.Outbox).
CREATE TABLE notices (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  unique_name bytea NOT NULL UNIQUE,
  channel bytea NOT NULL,
  kind bytea NOT NULL,
  site_id bigint NOT NULL,
  attempt_id bigint NOT NULL,
  project_name bytea NOT NULL,
  workflow_name bytea NOT NULL,
  message bytea NOT NULL,
  body bytea NOT NULL,            -- JSON
  created_at bigint NOT NULL,
  since bigint NOT NULL,
  due bigint,                     -- NULL: it was given up
  tries bigint NOT NULL,
  error bytea NOT NULL,
  given_up_at bigint
);
CREATE INDEX notices_of_site ON notices (site_id, id);
CREATE INDEX notices_of_attempt ON notices (attempt_id, id);
CREATE INDEX notices_due ON notices (channel, due, id) WHERE due IS NOT NULL;
CREATE INDEX notices_given_up ON notices (given_up_at) WHERE given_up_at IS NOT NULL;

-- Notifications about the same trouble, of which only the first is sent for a while (host.NoticeGroup).
CREATE TABLE notice_groups (
  unique_name bytea NOT NULL PRIMARY KEY,
  route bytea NOT NULL,
  site_id bigint NOT NULL,
  project_name bytea NOT NULL,
  workflow_name bytea NOT NULL,
  kind bytea NOT NULL,
  quiet_until bigint NOT NULL,
  seen bigint NOT NULL,
  unsent bigint NOT NULL,
  last_event bytea NOT NULL,
  body bytea NOT NULL             -- JSON, of the newest one
);
CREATE INDEX notice_groups_of_workflow ON notice_groups (site_id, project_name, workflow_name);
CREATE INDEX notice_groups_quiet ON notice_groups (quiet_until);

-- The newest outcomes of each channel of notifications (host.ChannelDelivery).
CREATE TABLE notice_channels (
  name bytea NOT NULL PRIMARY KEY,
  delivered_at bigint,
  failed_at bigint,
  error bytea NOT NULL
);

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

-- What each transaction that changes something writes, so that a server whose commit was not answered can ask whether it was made. A slot
-- belongs to one transaction at a time and is used again and again: there are about as many rows as connections.
CREATE TABLE transaction_marks (
  slot bigint PRIMARY KEY,        -- random
  mark bigint NOT NULL,           -- random, of the last transaction; 0: none has been committed under this slot
  at bigint NOT NULL              -- when the row was last written
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- Which timelines of PostgreSQL this schema has been used on. A standby that is promoted, or a restored backup, begins a new one, and may lack
-- the last commits: numbers that they gave out must not be given out again.
CREATE TABLE timelines (
  timeline bigint PRIMARY KEY,
  at bigint NOT NULL              -- when it was first used
);

-- The servers that use the schema (host.Servers). Times and lengths of time are of the database's clock.
CREATE TABLE servers (
  id bytea PRIMARY KEY,            -- random
  name bytea NOT NULL,
  host_name bytea NOT NULL,
  exposed bytea NOT NULL,
  process_id bigint NOT NULL,
  version bytea NOT NULL,
  executor boolean NOT NULL,
  scheduler boolean NOT NULL,
  agent boolean NOT NULL,
  task_types bytea NOT NULL,       -- separated by commas; '' is all
  running bigint NOT NULL,
  slots bigint NOT NULL,           -- 0 is no limit
  ahead bigint NOT NULL,           -- microseconds that its clock is ahead
  stopping boolean NOT NULL,
  lease bigint NOT NULL,           -- microseconds
  started_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  lost_at bigint,
  schema_version bigint NOT NULL   -- the newest that it knows
);

-- Views for reports, which users read with tools of their own: docs/reporting.md promises their columns. A role needs USAGE on the schema and
-- SELECT on a view, and no right to a table.
CREATE VIEW report_projects AS
SELECT p.id AS project_id, p.site_id,
  convert_from(coalesce(p.name, p.deleted_name), 'UTF8') AS project,
  timestamptz 'epoch' + p.created_at * interval '1 microsecond' AS created_at,
  timestamptz 'epoch' + p.deleted_at * interval '1 microsecond' AS deleted_at,
  timestamptz 'epoch' + p.paused_at * interval '1 microsecond' AS paused_at,
  convert_from(r.name, 'UTF8') AS revision,
  timestamptz 'epoch' + r.created_at * interval '1 microsecond' AS pushed_at
FROM projects p LEFT JOIN revisions r ON r.id = p.latest_revision_id;

CREATE VIEW report_schedules AS
SELECT s.id AS schedule_id, s.site_id, s.project_id,
  convert_from(coalesce(p.name, p.deleted_name), 'UTF8') AS project,
  convert_from(s.workflow_name, 'UTF8') AS workflow,
  convert_from(c.timezone, 'UTF8') AS timezone,
  timestamptz 'epoch' + s.next_run_time * interval '1 microsecond' AS next_run_at,
  timestamptz 'epoch' + s.next_schedule_time * interval '1 microsecond' AS next_session_time,
  timestamptz 'epoch' + s.last_session_time * interval '1 microsecond' AS last_session_time,
  s.disabled_at IS NULL AND p.paused_at IS NULL AS enabled,
  timestamptz 'epoch' + s.disabled_at * interval '1 microsecond' AS disabled_at
FROM schedules s JOIN projects p ON p.id = s.project_id
  JOIN workflow_definitions d ON d.id = s.workflow_definition_id JOIN workflow_configs c ON c.id = d.config_id;

-- Bits of state_flags: 1 killed, 2 over, 4 success, 16 paused, 32 success with ignored errors, 64 imported. Above the lowest 16 bits is the second
-- at which the attempt begins, if that was requested.
CREATE VIEW report_attempts AS
SELECT a.id AS attempt_id, a.session_id, a.site_id, a.project_id,
  convert_from(coalesce(p.name, p.deleted_name), 'UTF8') AS project,
  convert_from(a.workflow_name, 'UTF8') AS workflow,
  timestamptz 'epoch' + n.session_time * interval '1 microsecond' AS session_time,
  convert_from(a.timezone, 'UTF8') AS timezone,
  a.attempt_index AS attempt_number,
  convert_from(nullif(a.attempt_name, ''), 'UTF8') AS retry_name,
  CASE WHEN a.state_flags & 4 <> 0 THEN 'success' WHEN a.state_flags & 3 = 3 THEN 'killed' WHEN a.state_flags & 2 <> 0 THEN 'error' ELSE 'running' END AS status,
  a.state_flags & 2 <> 0 AS finished,
  a.state_flags & 1 <> 0 AS kill_requested,
  a.state_flags & 16 <> 0 AS paused,
  a.state_flags & 32 <> 0 AS errors_ignored,
  a.state_flags & 64 <> 0 AS imported,
  a.retried,
  b.created_at, b.began_at, b.finished_at,
  b.finished_at - b.began_at AS duration,
  convert_from(r.name, 'UTF8') AS revision
FROM session_attempts a JOIN sessions n ON n.id = a.session_id JOIN projects p ON p.id = a.project_id
  LEFT JOIN workflow_definitions d ON d.id = a.workflow_definition_id LEFT JOIN revisions r ON r.id = d.revision_id
  CROSS JOIN LATERAL (SELECT timestamptz 'epoch' + a.created_at * interval '1 microsecond' AS created_at,
    timestamptz 'epoch' + greatest(a.created_at, (a.state_flags >> 16) * 1000000) * interval '1 microsecond' AS began_at,
    timestamptz 'epoch' + a.finished_at * interval '1 microsecond' AS finished_at) b;

CREATE VIEW report_sessions AS
SELECT n.id AS session_id, convert_from(n.session_uuid, 'UTF8') AS session_uuid, n.site_id, n.project_id,
  convert_from(coalesce(p.name, p.deleted_name), 'UTF8') AS project,
  convert_from(n.workflow_name, 'UTF8') AS workflow,
  timestamptz 'epoch' + n.session_time * interval '1 microsecond' AS session_time,
  n.attempts, n.last_attempt_id,
  a.status, a.created_at AS last_attempt_created_at, a.began_at AS last_attempt_began_at, a.finished_at AS last_attempt_finished_at, a.duration AS last_attempt_duration
FROM sessions n JOIN projects p ON p.id = n.project_id LEFT JOIN report_attempts a ON a.attempt_id = n.last_attempt_id;
