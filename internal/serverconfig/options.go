package serverconfig

import (
	"errors"
	"slices"

	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/evaluators"
	"zerodag/internal/node"
	"zerodag/internal/shared"
)

// Options holds a server's settings, from its command line and its configuration.
type Options struct {
	Engine embedded.Options // without a logger or the shared stores
	Shared *shared.Options  // the shared stores, without a logger; nil for a stand-alone server
	Web    Web
	Parts  node.Parts // the loops that it runs

	Unread []string // keys without an effect, for display
	Notes  []string // warnings for the log
}

// Options reads all settings in r. It creates the data folder and the secret key if they are needed but missing. Notice
// templates are evaluated once with pool.
func (c *CommandLine) Options(r *configuration.Reading, pool *evaluators.Pool) (o Options, err error) {
	if o.Engine, err = c.embeddedOptions(r); err != nil {
		return o, err
	}
	if o.Web, err = c.webOptions(r); err != nil {
		return o, err
	}
	o.Engine.Evaluators = pool
	if err := notifies(r, &o.Engine); err != nil {
		return o, err
	}
	o.Parts = c.parts(r)
	if c.shares(r.Settings) {
		with, wrong := sharedOptions(r, o.Engine)
		o.Shared, err = &with, wrong
	}
	o.Unread, o.Notes = r.Unread(), slices.Concat(r.Notes, o.Web.Notes)
	if note := c.Readable(r.Settings); note != "" {
		o.Notes = append(o.Notes, note)
	}
	return o, errors.Join(err, r.Err)
}
