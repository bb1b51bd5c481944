// Package channel sends a server's notices to chat rooms and pagers: Slack, Teams, Discord, Telegram and PagerDuty,
// each in the vendor's format and within its limits.
//
// Each request is a few lines of JSON, so the package uses no notification library: the popular libraries contain
// clients for dozens of services, take the message as one string, and put the request's URL, which is a secret, into
// their errors.
package channel
