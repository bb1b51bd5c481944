// Package signin serves a browser that signs in and out, by a token, a password or a provider of identities. What a
// sign-in is worth is package access's. It knows no other room of endpoints.
package signin
