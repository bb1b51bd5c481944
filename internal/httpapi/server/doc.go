// Package server serves the server itself (its health, version, metrics, limits, queues and backup) and its users
// (tokens, sites and the audit log). It does not depend on other groups of endpoints.
package server
