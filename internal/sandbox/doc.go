// Package sandbox runs the commands of tasks on remote runners: machines that are launched for an attempt, fetch its
// commands one after the other, and leave when there are no more. The program on such a machine is cmd/runner.
//
// Three callers share it. Agents submit commands and request their end (Service.For), the function runners serves
// machines (Join, Poll, Finish, URL), and the tick checks runners that are silent (Check, Stopped). The Store is the
// only source of truth; if a process is cut off between two calls, the next one finds everything that it left. It must
// not use an SDK, and must never store a secret.
//
// The rules (invariants.md 4.13): a command is one row for all runs that request it again; it is claimed by a
// conditional write; a runner leaves by a conditional write that fails if a command has arrived in the meantime; the
// trust boundary is the attempt.
package sandbox
