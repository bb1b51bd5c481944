-- What each transaction that changes something writes, so that a server whose commit was not answered can ask whether it was made. A slot
-- belongs to one transaction at a time and is used again and again: there are about as many rows as connections.
CREATE TABLE transaction_marks (
  slot bigint PRIMARY KEY,        -- random
  mark bigint NOT NULL,           -- random, of the last transaction; 0: none has been committed under this slot
  at bigint NOT NULL              -- when the row was last written
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
