// Package alerts runs the alert rules for Prometheus (packaging/files/alerts.yaml) on recorded series (rules.yaml) with
// promtool, which `make test-alerts` installs.
package alerts
