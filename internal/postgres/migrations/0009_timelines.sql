-- Which timelines of PostgreSQL this schema has been used on. A standby that is promoted, or a restored backup, begins a new one, and may lack
-- the last commits: numbers that they gave out must not be given out again.
CREATE TABLE timelines (
  timeline bigint PRIMARY KEY,
  at bigint NOT NULL              -- when it was first used
);
