// Package account looks at an AWS account from outside, for who deploys to it: whether a deploy
// of a stage will work there and what is to be changed first, and it stops what would be in the way
// of a removal. For who pays, it reads what a stage used and what AWS billed for it.
//
// `zerodag aws` uses it, with the credentials of the user. It changes nothing but what it is told to:
// CreateRole makes one role, Stop ends machines and keeps new ones from being launched.
package account
