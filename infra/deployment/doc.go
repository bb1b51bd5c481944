// Package deployment describes, by the CDK, all resources of a deployment on AWS. The app next to it makes one stack of
// it; a CDK app of yours puts it into one of its stacks with New (infra/example shows how).
//
// One file per concern. It imports nothing of ours but the settings and the names that functions read: it never starts,
// calls or knows a program.
package deployment
