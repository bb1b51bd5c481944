// Package fargate launches the machines of package sandbox as tasks of ECS on Fargate: a driver of sandbox.Launcher.
//
// The Lambda functions wire it. It must never launch two machines for one runner (the client token is derived from its
// name), and must never give a machine a role that the deployment does not allow.
package fargate
