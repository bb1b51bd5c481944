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
