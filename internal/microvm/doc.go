// Package microvm launches the machines of package sandbox as Lambda MicroVMs: a driver of sandbox.Launcher.
//
// The Lambda functions wire it. It must never launch two machines for one runner (the client token is derived from its
// name), never give a machine a role, and never end a machine that a runner may have. Every operation and field that it
// uses is in the service model (docs/adr/0055-lambda-microvms.md); the service has not been called on a real account
// yet.
package microvm
