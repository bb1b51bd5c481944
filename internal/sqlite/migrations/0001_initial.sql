-- Times are microseconds since 1970 UTC; NULL is "not yet". JSON is text.

CREATE TABLE projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  site_id INTEGER NOT NULL,
  name TEXT,                      -- NULL once deleted
  deleted_name TEXT,
  created_at INTEGER NOT NULL,
  deleted_at INTEGER,
  latest_revision_id INTEGER NOT NULL DEFAULT 0,
  paused_at INTEGER,              -- who lets nothing of it start (host.Pause); without a time nobody does
  paused_by TEXT NOT NULL DEFAULT '',
  pause_reason TEXT NOT NULL DEFAULT '',
  UNIQUE (site_id, name)
) STRICT;
CREATE INDEX projects_living ON projects (site_id, id) WHERE deleted_at IS NULL;

CREATE TABLE revisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  name TEXT NOT NULL,
  archive_path TEXT NOT NULL,
  archive_md5 BLOB,
  created_at INTEGER NOT NULL,
  user_info TEXT,
  archive_state TEXT,             -- what retention knows of the archive (host.ArchiveState); NULL is nothing
  UNIQUE (project_id, name)
) STRICT;
CREATE INDEX revisions_of_project ON revisions (project_id, id);

-- One row for each different text: pushing the same workflow again adds none.
CREATE TABLE workflow_configs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  config_digest BLOB NOT NULL,    -- SHA-256 of the zone and the text
  timezone TEXT NOT NULL,
  config TEXT NOT NULL,
  UNIQUE (project_id, config_digest)
) STRICT;

CREATE TABLE workflow_definitions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  revision_id INTEGER NOT NULL REFERENCES revisions (id),
  config_id INTEGER NOT NULL REFERENCES workflow_configs (id),
  name TEXT NOT NULL,
  latest_site_id INTEGER,         -- the site, while this is what its living project runs
  UNIQUE (revision_id, name)
) STRICT;
CREATE INDEX workflow_definitions_of_revision ON workflow_definitions (revision_id, id);
CREATE INDEX workflow_definitions_latest ON workflow_definitions (latest_site_id, id) WHERE latest_site_id IS NOT NULL;

CREATE TABLE schedules (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  site_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  workflow_name TEXT NOT NULL,
  workflow_definition_id INTEGER NOT NULL REFERENCES workflow_definitions (id),
  next_run_time INTEGER NOT NULL,
  next_schedule_time INTEGER NOT NULL,
  last_session_time INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  disabled_at INTEGER,
  UNIQUE (project_id, workflow_name)
) STRICT;
CREATE INDEX schedules_of_site ON schedules (site_id, id);
CREATE INDEX schedules_due ON schedules (next_run_time) WHERE disabled_at IS NULL;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  site_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  workflow_name TEXT NOT NULL,
  session_time INTEGER NOT NULL,
  session_uuid TEXT NOT NULL,
  last_attempt_id INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  UNIQUE (project_id, workflow_name, session_time)
) STRICT;
CREATE INDEX sessions_of_site ON sessions (site_id, id);
CREATE INDEX sessions_of_workflow ON sessions (project_id, workflow_name, id);
CREATE INDEX sessions_of_project ON sessions (project_id, id);

CREATE TABLE session_attempts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id INTEGER NOT NULL REFERENCES sessions (id),
  site_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  workflow_name TEXT NOT NULL,
  workflow_definition_id INTEGER NOT NULL,
  attempt_name TEXT NOT NULL,     -- '' when the user gave none
  attempt_index INTEGER NOT NULL,
  state_flags INTEGER NOT NULL,   -- bits: see sqlstore.Canceled
  timezone TEXT NOT NULL,
  params TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  retried INTEGER NOT NULL,       -- 1: a later attempt of the session exists
  has_log INTEGER NOT NULL,       -- 1: there are rows in attempt_entries
  dependent_session_id INTEGER,   -- the session that must be over before this starts
  labels TEXT,                    -- JSON (host.Attempt); NULL is none
  UNIQUE (session_id, attempt_name)
) STRICT;
-- "retried" comes before the id: both halves are read in order and merged.
CREATE INDEX attempts_of_site ON session_attempts (site_id, retried, id);
CREATE INDEX attempts_of_project ON session_attempts (project_id, retried, id);
CREATE INDEX attempts_of_workflow ON session_attempts (project_id, workflow_name, retried, id);
CREATE INDEX attempts_active ON session_attempts (id) WHERE finished_at IS NULL;
CREATE INDEX attempts_active_of_site ON session_attempts (site_id, id) WHERE finished_at IS NULL;
CREATE INDEX attempts_imported ON session_attempts (id) WHERE state_flags & 64 <> 0;
CREATE INDEX attempts_waiting ON session_attempts (dependent_session_id, id) WHERE dependent_session_id IS NOT NULL;
CREATE INDEX attempts_to_expire ON session_attempts (finished_at) WHERE has_log = 1 AND finished_at IS NOT NULL;

CREATE TABLE attempt_archives (
  attempt_id INTEGER PRIMARY KEY,
  state BLOB NOT NULL
) STRICT;

-- The id of an entry is attempt id * 2^24 + sequence number: entries of an attempt lie
-- side by side, in order, with one tree to write to.
CREATE TABLE attempt_entries (
  id INTEGER PRIMARY KEY,
  nonce TEXT NOT NULL,
  at INTEGER,
  changes BLOB NOT NULL,
  events BLOB
) STRICT;
CREATE TABLE attempt_snapshots (
  id INTEGER PRIMARY KEY,         -- of the entry up to which it holds
  state BLOB NOT NULL
) STRICT;

CREATE TABLE queued_messages (
  id INTEGER PRIMARY KEY,         -- in the order sent
  queue TEXT NOT NULL,
  unique_name TEXT NOT NULL,
  message_group TEXT NOT NULL,
  due INTEGER,
  receive_count INTEGER NOT NULL DEFAULT 0,
  body BLOB NOT NULL,
  begun TEXT NOT NULL DEFAULT ''  -- the run that the last receiver of the message has begun (host.Marker)
) STRICT;

CREATE TABLE secrets (
  site_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  scope TEXT NOT NULL,
  engine TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (site_id, project_id, scope, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE params (
  site_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (site_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  site_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used_at INTEGER,
  projects TEXT -- names, separated by slashes; NULL: all
) STRICT;
CREATE INDEX tokens_of_site ON tokens (site_id, id);

-- When users ended the sessions of their browsers: sessions that began until then are over.
CREATE TABLE ended_sessions (
  who TEXT PRIMARY KEY,
  until INTEGER NOT NULL,
  forget_at INTEGER NOT NULL
) STRICT;

CREATE TABLE audits (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  site_id INTEGER NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  detail TEXT,
  refused INTEGER NOT NULL,
  address TEXT,
  credential TEXT,
  request TEXT
) STRICT;
CREATE INDEX audits_of_site ON audits (site_id, id);

-- Short logs of tasks: a file for each attempt costs more than what the attempt did, and a
-- folder with many of them makes every new one slower.
CREATE TABLE task_logs (
  attempt_id INTEGER NOT NULL,
  name TEXT NOT NULL,             -- of the file that it would be
  content BLOB NOT NULL,          -- what would be in it
  PRIMARY KEY (attempt_id, name)
) STRICT, WITHOUT ROWID;

-- Which sessions retention has removed: what starts by itself must not run them again.
CREATE TABLE forgotten_sessions (
  project_id INTEGER NOT NULL,
  workflow_name TEXT NOT NULL,
  session_time INTEGER NOT NULL,
  PRIMARY KEY (project_id, workflow_name, session_time)
) STRICT, WITHOUT ROWID;

-- Pools of slots that tasks share (host.Pools), who has the slots, and who waits for them.
CREATE TABLE pools (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  site_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL,    -- 0: the pool belongs to the site
  name TEXT NOT NULL,
  slots INTEGER NOT NULL,
  held INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (site_id, project_id, name)
) STRICT;
CREATE INDEX pools_of_site ON pools (site_id, id);

CREATE TABLE pool_slots (
  pool_id INTEGER NOT NULL,
  number INTEGER NOT NULL,        -- from 0
  holder TEXT NOT NULL,
  taken_at INTEGER NOT NULL,
  PRIMARY KEY (pool_id, number)
) STRICT, WITHOUT ROWID;

-- In the order of the line.
CREATE TABLE pool_claims (
  pool_id INTEGER NOT NULL,
  rank INTEGER NOT NULL,          -- the priority, negated
  since INTEGER NOT NULL,         -- milliseconds since 1970
  holder TEXT NOT NULL,
  slots INTEGER NOT NULL,
  PRIMARY KEY (pool_id, rank, since, holder)
) STRICT, WITHOUT ROWID;

-- Notifications that are not delivered yet, and those that were given up, for each channel (host.Outbox).
CREATE TABLE notices (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  unique_name TEXT NOT NULL UNIQUE,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  site_id INTEGER NOT NULL,
  attempt_id INTEGER NOT NULL,
  project_name TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  message TEXT NOT NULL,
  body BLOB NOT NULL,             -- JSON
  created_at INTEGER NOT NULL,
  since INTEGER NOT NULL,
  due INTEGER,                    -- NULL: it was given up
  tries INTEGER NOT NULL,
  error TEXT NOT NULL,
  given_up_at INTEGER
) STRICT;
CREATE INDEX notices_of_site ON notices (site_id, id);
CREATE INDEX notices_of_attempt ON notices (attempt_id, id);
CREATE INDEX notices_due ON notices (channel, due, id) WHERE due IS NOT NULL;
CREATE INDEX notices_given_up ON notices (given_up_at) WHERE given_up_at IS NOT NULL;

-- Notifications about the same trouble, of which only the first is sent for a while (host.NoticeGroup).
CREATE TABLE notice_groups (
  unique_name TEXT NOT NULL PRIMARY KEY,
  route TEXT NOT NULL,
  site_id INTEGER NOT NULL,
  project_name TEXT NOT NULL,
  workflow_name TEXT NOT NULL,
  kind TEXT NOT NULL,
  quiet_until INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  unsent INTEGER NOT NULL,
  last_event TEXT NOT NULL,
  body BLOB NOT NULL             -- JSON, of the newest one
) STRICT, WITHOUT ROWID;
CREATE INDEX notice_groups_of_workflow ON notice_groups (site_id, project_name, workflow_name);
CREATE INDEX notice_groups_quiet ON notice_groups (quiet_until);

-- The newest outcomes of each channel of notifications (host.ChannelDelivery).
CREATE TABLE notice_channels (
  name TEXT NOT NULL PRIMARY KEY,
  delivered_at INTEGER,
  failed_at INTEGER,
  error TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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

-- The server that uses the file, and earlier ones that were not stopped (host.Servers).
CREATE TABLE servers (
  id TEXT PRIMARY KEY,             -- random
  name TEXT NOT NULL,
  host_name TEXT NOT NULL,
  exposed TEXT NOT NULL,
  process_id INTEGER NOT NULL,
  version TEXT NOT NULL,
  executor INTEGER NOT NULL,
  scheduler INTEGER NOT NULL,
  agent INTEGER NOT NULL,
  task_types TEXT NOT NULL,        -- separated by commas; '' is all
  running INTEGER NOT NULL,
  slots INTEGER NOT NULL,          -- 0 is no limit
  ahead INTEGER NOT NULL,          -- microseconds that its clock is ahead
  stopping INTEGER NOT NULL,
  lease INTEGER NOT NULL,          -- microseconds
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  lost_at INTEGER,
  schema_version INTEGER NOT NULL   -- the newest that it knows
) STRICT;
