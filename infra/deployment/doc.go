// Package deployment describes all resources of a deployment on AWS with the CDK. The app next to it puts them into one
// stack; your own CDK app puts them into one of its stacks with New (infra/example shows how).
//
// There is one file per concern. Of zerodag's packages, it imports only the settings and the names that functions read.
// It never starts or calls a program, and depends on none.
package deployment
