// Package account inspects an AWS account from outside: it reports whether a deploy of a stage will work there and what
// must change first, what a stage used, and what AWS billed for it. It also switches a stage off and on.
//
// `zerodag aws` uses it with the user's credentials. Only three functions change anything: CreateRole creates one role,
// Stop ends machines and blocks new ones, and Start allows new ones again.
package account
