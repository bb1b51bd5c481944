// Package vault gives task runs the secrets of their project, and masks these secrets in everything that is shown of a
// run: its log, its errors, its parameters.
//
// Delivery uses one vault per run, and package local uses one for all runs. It must never write or log a secret.
package vault

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/host"
	"zerodag/operators"
	"zerodag/operators/run"
)

// Vault gives secrets to runs and remembers them, so that it can mask them in logs. It serves one run, or all runs of
// an attempt.
type Vault struct {
	from run.SecretStore

	mu    sync.Mutex
	given []string
}

// New returns a vault for a project's secrets.
func New(from run.SecretStore) *Vault { return &Vault{from: from} }

// Secret implements run.SecretStore.
func (v *Vault) Secret(key string) (string, bool, error) {
	value, found, err := v.from.Secret(key)
	v.hide(value)
	return value, found, err
}

// hide adds a value to mask. Each line of a multi-line value is also masked, because programs show keys and
// certificates line by line.
func (v *Vault) hide(value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	add := func(text string) {
		if len(text) >= shortestMasked && !slices.Contains(v.given, text) {
			v.given = append(v.given, text)
		}
	}
	add(value)
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			add(strings.TrimSpace(line))
		}
	}
}

// projectSecrets holds a project's secrets, which it reads when the first one is requested.
type projectSecrets struct {
	ctx           context.Context //nolint:containedctx // a vault lives as long as its run, and its methods are those of run.SecretStore
	secrets       host.Secrets
	site, project int64

	mu     sync.Mutex
	all    map[string]string
	others []string // values of other secrets of the site
}

// sharing is a host.Secrets with secrets that several projects of a site may use.
type sharing interface {
	All(ctx context.Context, site, project int64) (usable map[string]string, others []string, err error)
}

func (p *projectSecrets) read() (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all != nil {
		return p.all, nil
	}
	var all map[string]string
	var others []string
	var err error
	if s, shares := p.secrets.(sharing); shares {
		all, others, err = s.All(p.ctx, p.site, p.project)
	} else {
		all, err = p.secrets.ProjectSecrets(p.ctx, p.site, p.project)
	}
	if err != nil {
		return all, err // what was read may lack secrets: the next call reads again
	}
	if all == nil {
		all = map[string]string{}
	}
	p.all, p.others = all, others
	return all, nil
}

// Secret implements run.SecretStore.
func (p *projectSecrets) Secret(key string) (string, bool, error) {
	all, err := p.read()
	value, found := all[key]
	return value, found, err
}

// Of returns the vault for a run of a project's task. hidden means that an earlier run got secrets and stored
// something, so that parameters may contain any of them: in that case, all secrets of the project and of its site are masked. An error
// means that they could not be read; the vault can still be used.
func Of(ctx context.Context, secrets host.Secrets, site, project int64, hidden bool) (*Vault, error) {
	from := &projectSecrets{ctx: ctx, secrets: secrets, site: site, project: project}
	v := New(from)
	if !hidden {
		return v, nil
	}
	all, err := from.read()
	for _, value := range all {
		v.hide(value)
	}
	for _, value := range from.others {
		v.hide(value)
	}
	return v, err
}

// Gave reports whether the vault gave a secret that it masks.
func (v *Vault) Gave() bool { return len(v.values()) > 0 }

func (v *Vault) values() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.given
}

// shortestMasked is the minimum length of secrets that are masked. Shorter ones are words and numbers that logs contain
// anyway; masking every "1" because a secret is "1" would reveal more than it hides.
const shortestMasked = 8

const mask = "****"

// span is a part of a string.
type span struct{ from, to int }

// hidden returns the parts of a string that belong to secrets. Overlapping parts form one span, so that two secrets
// that overlap are both hidden completely.
func hidden(text string, secrets []string) []span {
	var all []span
	for _, s := range secrets {
		for at := 0; ; {
			i := strings.Index(text[at:], s)
			if i < 0 {
				break
			}
			all = append(all, span{at + i, at + i + len(s)})
			at += i + 1
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	merged := all[:0]
	for _, x := range all {
		if n := len(merged); n > 0 && x.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, x.to)
		} else {
			merged = append(merged, x)
		}
	}
	return merged
}

// Log returns a log that masks the vault's secrets. The caller must close it at the end.
func (v *Vault) Log(to host.TaskLog) host.TaskLog { return &maskedLog{TaskLog: to, vault: v} }

func (v *Vault) mask(text string) string {
	spans := hidden(text, v.values())
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, x := range spans {
		b.WriteString(text[at:x.from])
		b.WriteString(mask)
		at = x.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// MaskAll masks every string in a tree; nil stays nil.
func (v *Vault) MaskAll(m *param.Map) *param.Map {
	if m == nil || len(v.values()) == 0 {
		return m
	}
	return v.maskValue(m).(*param.Map)
}

func (v *Vault) maskValue(value param.Value) param.Value {
	switch x := value.(type) {
	case string:
		return v.mask(x)
	case param.Literal:
		return param.Literal(v.mask(string(x)))
	case []param.Value:
		list := make([]param.Value, len(x))
		for i, e := range x {
			list[i] = v.maskValue(e)
		}
		return list
	case *param.Map:
		out := param.New()
		for k, e := range x.All() {
			out.Set(v.mask(k), v.maskValue(e))
		}
		return out
	}
	return value
}

// maskedLog masks the run's secrets in the text that it writes. A secret may arrive in pieces, so the end of the text
// is held until more arrives if it could begin a secret.
type maskedLog struct {
	host.TaskLog
	vault *Vault

	mu      sync.Mutex
	held    string
	covered int // how many bytes at the beginning of held have already been written as a mask
}

func (m *maskedLog) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	secrets := m.vault.values()
	if len(secrets) == 0 && m.held == "" {
		return m.TaskLog.Write(p)
	}
	text := m.held + string(p)
	if err := m.write(text, hidden(text, secrets), len(text)-longestBeginning(text, secrets)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// write writes text up to cut and holds the rest. A secret that spans the cut is masked now, and the rest of it is not
// written later.
func (m *maskedLog) write(text string, spans []span, cut int) error {
	var b strings.Builder
	at, covered := m.covered, 0
	for _, x := range spans {
		if x.from >= cut {
			break
		}
		if x.from >= at {
			b.WriteString(text[at:x.from])
			b.WriteString(mask)
		} // otherwise it overlaps an earlier mask
		at = max(at, x.to)
	}
	if at < cut {
		b.WriteString(text[at:cut])
	} else {
		covered = at - cut
	}
	m.held, m.covered = text[cut:], covered
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(m.TaskLog, b.String())
	return err
}

// longestBeginning returns how many bytes at the end of text may begin a secret.
func longestBeginning(text string, secrets []string) int {
	longest := 0
	for _, s := range secrets {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(s, text[len(text)-n:]) {
				longest = n
			}
		}
	}
	return longest
}

// Line implements operators.Log.
func (m *maskedLog) Line(level operators.Level, logger, message string) {
	m.release()
	m.TaskLog.Line(level, logger, m.vault.mask(message))
}

// Echo implements operators.Log.
func (m *maskedLog) Echo(message string) {
	m.release()
	m.TaskLog.Echo(m.vault.mask(message))
}

// release writes the held text and ignores errors, because a log never fails its task.
func (m *maskedLog) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held != "" {
		m.write(m.held, hidden(m.held, m.vault.values()), len(m.held)) //nolint:errcheck // a task's log never fails
	}
}

// Close ends the log.
func (m *maskedLog) Close() error {
	m.release()
	return m.TaskLog.Close()
}
