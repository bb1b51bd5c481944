// Package server serves what is about the server itself: its health, version, metrics, limits, queues and backup, and
// who uses it: tokens, sites and the audit log. It knows no other room of endpoints.
package server
