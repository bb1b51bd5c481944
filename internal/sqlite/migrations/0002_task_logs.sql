-- Short logs of tasks: a file for each attempt costs more than what the attempt did, and a
-- folder with many of them makes every new one slower.
CREATE TABLE task_logs (
  attempt_id INTEGER NOT NULL,
  name TEXT NOT NULL,             -- of the file that it would be
  content BLOB NOT NULL,          -- what would be in it
  PRIMARY KEY (attempt_id, name)
) STRICT, WITHOUT ROWID;
