// Package fargate launches the machines of package sandbox as tasks of ECS on Fargate: a
// driver of sandbox.Launcher.
//
// The functions wire it. It must never launch twice for one runner (the client token is derived from its name), and
// must give a machine no role that the deployment does not allow.
package fargate
