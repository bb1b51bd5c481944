// Package signin signs browsers in and out, with a token, a password or an identity provider. Package access decides
// what a sign-in permits. It does not depend on other groups of endpoints.
package signin
