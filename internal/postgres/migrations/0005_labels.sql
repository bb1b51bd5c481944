-- Labels of an attempt (host.Attempt), JSON; NULL is none. Servers of before give none.
ALTER TABLE session_attempts ADD COLUMN labels bytea;
