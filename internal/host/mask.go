package host

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/operators"
)

// vault gives a run the secrets of its project and remembers which it gave, so that its
// log can leave them out. They are read when the first one is asked for.
type vault struct {
	ctx           context.Context
	secrets       Secrets
	site, project int64

	mu    sync.Mutex
	all   map[string]string
	given []string
}

// Secret implements operators.SecretStore.
func (v *vault) Secret(key string) (string, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		all, err := v.secrets.ProjectSecrets(v.ctx, v.site, v.project)
		if err != nil {
			return "", false, err
		}
		v.all = all
		if v.all == nil {
			v.all = map[string]string{}
		}
	}
	value, found := v.all[key]
	if len(value) >= shortestMasked && !slices.Contains(v.given, value) {
		v.given = append(v.given, value)
	}
	return value, found, nil
}

func (v *vault) values() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.given
}

// shortestMasked: shorter secrets are words and numbers that logs hold anyway; to tear
// every "1" out because a secret is "1" would tell more than it hides.
const shortestMasked = 8

const mask = "****"

// span is a part of a text.
type span struct{ from, to int }

// hidden finds what of a text belongs to a secret. What overlaps is one span: of two
// secrets that share a part neither shows the rest.
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

func (v *vault) mask(text string) string {
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

// maskAll masks every text of a tree; nil stays nil.
func (v *vault) maskAll(m *param.Map) *param.Map {
	if m == nil || len(v.values()) == 0 {
		return m
	}
	return v.maskValue(m).(*param.Map)
}

func (v *vault) maskValue(value param.Value) param.Value {
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

// maskedLog replaces secrets that were given to the run in what it writes. A secret may
// come in pieces, so the end of a text that could be the beginning of one is held back
// until more comes.
type maskedLog struct {
	TaskLog
	vault *vault

	mu      sync.Mutex
	held    string
	covered int // bytes at the beginning of held for which a mask was written
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

// write writes text up to cut and holds the rest back. A secret that lies across the cut
// is masked now, and its rest not written later.
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
		} // else it goes on behind a mask
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

// longestBeginning is how many bytes at the end of text begin a secret.
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

// release writes what is held back; a log never fails its task.
func (m *maskedLog) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held != "" {
		m.write(m.held, hidden(m.held, m.vault.values()), len(m.held))
	}
}

// Close ends the log.
func (m *maskedLog) Close() error {
	m.release()
	return m.TaskLog.Close()
}
