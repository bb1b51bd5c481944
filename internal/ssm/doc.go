// Package ssm is the AWS driver for host.Secrets: SecureStrings of the Parameter Store, <prefix>/<site>/<project>/<key>.
//
// The functions open it. It must never log a value, and never read single parameters when a task needs them: the store
// accepts about 40 calls a second from an entire account.
//
// # Guarantees
//
// A project's secrets are read by path and kept in memory for a minute, so other processes see a change within that
// time, and this process sees it at once. A parameter holds 4 KB; a longer value has further parameters, which are
// written before the first one names them.
//
// # Costs
//
// Standard parameters and their calls are free; KMS is $3 per million values decrypted with a customer key, and free
// with the account's.
//
//	secrets of a project     1 call for each 10 parameters, once a minute
//	list of keys             the same, nothing decrypted
//	put, delete              1 call for each 4 KB, and 1 for each that was longer before
package ssm
