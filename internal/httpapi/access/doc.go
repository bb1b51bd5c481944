// Package access identifies callers and decides what they may do: roles, users, tokens, grants, browser sessions, and
// the pages whose requests a browser may send. It handles requests without depending on any endpoint, and uses the
// store only for tokens.
package access
