package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (string, error) {
	var answer struct{ Version string }
	err := c.get(ctx, "/api/version", nil, &answer)
	return answer.Version, err
}

// Health is a server's response to a probe.
type Health struct {
	Status  string `json:"status"` // ok or unavailable
	Version string `json:"version"`
	Reason  string `json:"reason,omitempty"` // disk-full, read-only, store or stopping
}

// Ready asks once whether the server should get requests. A negative response is not an error.
func (c *Client) Ready(ctx context.Context) (h Health, err error) {
	r, err := c.once(ctx, request{method: http.MethodGet, address: c.address("/readyz", nil), accept: jsonType})
	var s *StatusError
	if errors.As(err, &s) && s.Status == http.StatusServiceUnavailable && json.Unmarshal([]byte(s.Body), &h) == nil && h.Reason != "" {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	defer r.Body.Close()
	return h, c.decode(r, &h)
}

// Caller describes the caller as the server identified them.
type Caller struct {
	Name string `json:"name"` // "" if no login is needed
	By   string `json:"by"`   // nothing, password, token or iam
	Role string `json:"role"`
	Site int64  `json:"site"`
	// ExpiresAt is when the caller's token expires; nil for never.
	ExpiresAt *time.Time `json:"expiresAt"`
	Projects  []string   `json:"projects"` // the only projects that the caller may use; empty: all
}

// Caller returns the caller as the server sees them.
func (c *Client) Caller(ctx context.Context) (who Caller, err error) {
	err = c.get(ctx, "/api/whoami", nil, &who)
	return who, err
}

// Check is a server's assessment of a client's version.
type Check struct {
	ServerVersion      string `json:"serverVersion"`
	UpgradeRecommended bool   `json:"upgradeRecommended"`
	APICompatible      bool   `json:"apiCompatible"`
}

// uploadsHeader is set if archives may be uploaded to the store.
const uploadsHeader = "Zerodag-Uploads"

// Check asks the server whether it works with this client.
func (c *Client) Check(ctx context.Context) (k Check, err error) {
	header, err := c.getWithHeader(ctx, "/api/version/check", query("client", APIVersion), &k)
	c.slots.Store(header.Get(uploadsHeader) != "")
	return k, err
}

// Secret is a secret in a list, without its value.
type Secret struct {
	Key      string   `json:"key"`
	Source   string   `json:"source"`             // "project", "site" or "machine"
	Projects []string `json:"projects,omitempty"` // of a secret of the site: the only projects that may use it
}

// Secrets lists a project's secrets, with the site secrets that it may use.
func (c *Client) Secrets(ctx context.Context, project ID) ([]Secret, error) {
	var list struct{ Secrets []Secret }
	err := c.get(ctx, path("api", "projects", string(project), "secrets"), nil, &list)
	for i := range list.Secrets {
		list.Secrets[i].Source = cmp.Or(list.Secrets[i].Source, "project")
	}
	return list.Secrets, err
}

// SiteSecrets lists the site's secrets.
func (c *Client) SiteSecrets(ctx context.Context) ([]Secret, error) {
	var list struct{ Secrets []Secret }
	err := c.get(ctx, path("api", "secrets"), nil, &list)
	for i := range list.Secrets {
		list.Secrets[i].Source = "site"
	}
	return list.Secrets, err
}

// SetSiteSecret stores a site secret; without projects, all projects of the site may use it.
func (c *Client) SetSiteSecret(ctx context.Context, key, value string, projects []string) error {
	body := struct {
		Value    string   `json:"value"`
		Projects []string `json:"projects"`
	}{value, projects}
	return c.send(ctx, http.MethodPut, path("api", "secrets", key), nil, body, nil)
}

// DeleteSiteSecret deletes a site secret; a missing secret is not an error.
func (c *Client) DeleteSiteSecret(ctx context.Context, key string) error {
	return c.send(ctx, http.MethodDelete, path("api", "secrets", key), nil, nil, nil)
}

// SetSecret stores a secret.
func (c *Client) SetSecret(ctx context.Context, project ID, key, value string) error {
	body := struct {
		Value string `json:"value"`
	}{value}
	return c.send(ctx, http.MethodPut, path("api", "projects", string(project), "secrets", key), nil, body, nil)
}

// DeleteSecret deletes a secret; a missing secret is not an error.
func (c *Client) DeleteSecret(ctx context.Context, project ID, key string) error {
	return c.send(ctx, http.MethodDelete, path("api", "projects", string(project), "secrets", key), nil, nil, nil)
}

// Rekeyed is the result of encrypting secrets with the current key.
type Rekeyed struct {
	Secrets         int          `json:"secrets"`
	Changed         int          `json:"changed"`
	UnreadableCount int          `json:"unreadable_count"`
	Unreadable      []SecretName `json:"unreadable"` // at most 100
}

// SecretName identifies a project secret.
type SecretName struct {
	Site      ID     `json:"site"`
	ProjectID ID     `json:"project_id"`
	Key       string `json:"key"`
}

// Rekey encrypts the secrets of all sites with the server's current key.
func (c *Client) Rekey(ctx context.Context) (Rekeyed, error) {
	var answer struct {
		Secrets, Changed, UnreadableCount int
		Unreadable                        []struct {
			Site, ProjectID ID
			Key             string
		}
	}
	err := c.send(ctx, http.MethodPost, "/api/x/admin/rekey", nil, struct{}{}, &answer)
	out := Rekeyed{Secrets: answer.Secrets, Changed: answer.Changed, UnreadableCount: answer.UnreadableCount, Unreadable: []SecretName{}}
	for _, s := range answer.Unreadable {
		out.Unreadable = append(out.Unreadable, SecretName(s))
	}
	return out, err
}

// Redrive sends dead letters back to the server's queues, and reports how many there were.
func (c *Client) Redrive(ctx context.Context) (int, error) {
	var answer struct{ Messages int }
	err := c.send(ctx, http.MethodPost, "/api/redrive", nil, struct{}{}, &answer)
	return answer.Messages, err
}

// RedriveOne sends one dead letter back to its queue.
func (c *Client) RedriveOne(ctx context.Context, letter string) (int, error) {
	var answer struct{ Messages int }
	err := c.send(ctx, http.MethodPost, path("api", "x", "admin", "dead-letters", letter, "redrive"), nil, struct{}{}, &answer)
	return answer.Messages, err
}

// Revived is the result of a revival.
type Revived struct {
	Attempts    int  `json:"attempts"` // unfinished attempts that were checked
	Messages    int  `json:"messages"` // messages sent to them
	Together    bool `json:"together"` // the server sees which messages are missing, and sends only those
	WaitSeconds int  `json:"wait_seconds"`
}

// Revive makes the server send the messages of unfinished attempts again, batch by batch, until all attempts are
// checked. After an error it may be called again and starts over.
func (c *Client) Revive(ctx context.Context) (sum Revived, err error) {
	for last := ID(""); ; {
		var part struct {
			Attempts, Messages, WaitSeconds int
			LastID                          ID
			Together                        bool
		}
		if err := c.send(ctx, http.MethodPost, "/api/revive", query("last_id", string(last)), struct{}{}, &part); err != nil {
			return sum, err
		}
		sum.Attempts, sum.Messages = sum.Attempts+part.Attempts, sum.Messages+part.Messages
		sum.Together, sum.WaitSeconds = part.Together, part.WaitSeconds
		if part.LastID == "" {
			return sum, nil
		}
		last = part.LastID
	}
}

// Tokens lists a site's tokens; "" is the caller's own.
func (c *Client) Tokens(ctx context.Context, site ID) ([]Token, error) {
	var list struct{ Tokens []Token }
	err := c.get(ctx, "/api/tokens", query("site", string(site)), &list)
	return list.Tokens, err
}

// CreateToken creates a token and returns it with its secret text, which cannot be retrieved later.
func (c *Client) CreateToken(ctx context.Context, asked TokenRequest) (t Token, err error) {
	err = c.send(ctx, http.MethodPost, "/api/tokens", nil, asked, &t)
	return t, err
}

// RevokeToken revokes one of a site's tokens.
func (c *Client) RevokeToken(ctx context.Context, id, site ID) (t Token, err error) {
	err = c.send(ctx, http.MethodDelete, path("api", "tokens", string(id)), query("site", string(site)), nil, &t)
	return t, err
}

// AuditEntry is an entry in the audit log.
type AuditEntry struct {
	ID      ID        `json:"id"`
	At      time.Time `json:"at"`
	Who     string    `json:"who"`
	Action  string    `json:"action"`
	Target  string    `json:"target"`
	Detail  string    `json:"detail"`
	Refused bool      `json:"refused"`
	Address string    `json:"address"`
	With    string    `json:"with"`
	Request string    `json:"request"`
}

// AuditFilter selects audit log entries; "" means any.
type AuditFilter struct {
	Who, Action, Target, From, To string
	Refused                       bool
}

// Audits lists entries, newest first.
func (c *Client) Audits(ctx context.Context, f AuditFilter, p Page) ([]AuditEntry, error) {
	q := query("who", f.Who, "action", f.Action, "target", f.Target, "from", f.From, "to", f.To, "last_id", string(p.Last))
	if f.Refused {
		q.Set("refused", "true")
	}
	if p.Count > 0 {
		q.Set("page_size", strconv.Itoa(p.Count))
	}
	var list struct{ Audits []AuditEntry }
	err := c.get(ctx, "/api/audit", q, &list)
	return list.Audits, err
}
