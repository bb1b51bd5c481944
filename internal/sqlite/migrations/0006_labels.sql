-- Labels of an attempt (host.Attempt), JSON; NULL is none.
ALTER TABLE session_attempts ADD COLUMN labels TEXT;
