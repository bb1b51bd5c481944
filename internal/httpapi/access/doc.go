// Package access says who calls, and what they may: roles, users, tokens, grants, sessions of browsers, and the pages
// that may have a browser call. It knows requests and no endpoint, and asks the store for tokens only.
package access
