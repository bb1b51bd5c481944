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
