// Package dynamo is the AWS driver for the host's ports that keep rows and logs: one on-demand table holds the logs of
// attempts, projects, definitions, schedules, sessions, tokens, the audit log, pools, timers and the values of
// `param_set>`.
//
// The Lambda functions open it once for each process. It must never make decisions that belong to the host, never query
// an index if slightly old data would be wrong, and never write twice if once is enough.
//
// # Guarantees
//
// Rows of single objects by id, logs, names, sessions by time, and the attempts that wait for a session are read
// consistently. Lists of projects, schedules, tokens, sessions and attempts, including active or due ones, come from
// indexes, which are updated within milliseconds; the rows are then read consistently from the table. An index finds
// candidates; it never supplies their state.
//
// A push becomes visible with all its definitions and up to about 95 of its schedules, or not at all. A start of up to
// 20 attempts is one transaction. All parts of a log have the same expiry, set by the first write; once it has passed,
// the log counts as gone, whether DynamoDB has deleted it or not.
//
// # Retries
//
// The client retries calls that were throttled, got no response or conflicted with a transaction, with jitter. That is
// safe: puts write whole items, entries have a nonce, transactions a token, and a conditional change that finds its own
// result succeeds. Calls that still fail return host.ErrUnavailable.
//
// # Access patterns
//
// RRU means read units (4 KB, consistent), and WRU write units (1 KB, twice in a transaction, including those of
// indexes) of small items; q means Query, b BatchGetItem.
//
//	append an entry                          1 put                        1 WRU
//	 ... to a log not seen by this process   1 get before it              1 RRU
//	load an attempt's log                    1 q, 2 when it is longer     its size, /4 KB
//	look back from an entry                  2 q, 1 get for a snapshot
//	start a new session                      1 transaction                8 WRU
//	start a session again                    2 transactions, 1 b          12 WRU
//	begin a waiting attempt                  1 get, 1 transaction
//	end an attempt                           1 q (for short logs), 1 update   3 WRU and the state
//	attempt, project, schedule by id         1 get                        1 RRU
//	remove a session of one attempt          3 q, 1 b, 2 gets, 1 transaction   8 WRU
//	look for old attempts                    9 q, 1 b for each 100
//	definition by id                         2 gets                       2 RRU
//	session by id                            1 get, 1 b (2 when retried)
//	project by name                          2 gets
//	newest session of a workflow             1 q of 1
//	attempts of a site, project, workflow    8 q side by side, 1 b for each 100
//	sessions of the same                     1 b or 2 more
//	attempts of a session, waiting for it    1 q, 1 b
//	active attempts of a site, due schedules 8 q side by side, 1 b for each 100
//	number of active attempts                8 q side by side, nothing read
//	schedules, tokens, projects              1 q, 1 b for each 100
//	definitions of a revision                1 get, 1 b for each 100
//	newest definitions of a site             1 q, 2 b for each 100 projects, 1 b
//	push                                     1 put, 4 gets, 1 batch for each 25 definitions, 1 transaction
//	token by its hash                        1 get (and 1 update an hour)
//	a request of a browser's session         1 get, every 2 s
//	sign out                                 1 put                        1 WRU
//	a value of param_get>, param_set>        1 get, 1 put
//	a pool with its slots and its line       1 q                          1 RRU for some 40 rows
//	take a slot of a pool                    1 put                        1 WRU
//	 ... out of its line, or several slots   1 transaction                2 WRU for each row
//	join or leave the line, free a slot      1 put or delete              1 WRU
//	timers that are due                      8 q side by side, 1 b for each 100
package dynamo
