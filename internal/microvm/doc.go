// Package microvm launches the machines of package sandbox as Lambda MicroVMs: a driver of sandbox.Launcher.
//
// The functions wire it. It must never launch twice for one runner (the client token is derived from its name), must
// give a machine no role, and must end no machine that a runner may have. Every operation and field that it uses is in
// the service model (docs/adr/0055-lambda-microvms.md); the service has not been called on a real account yet.
package microvm
