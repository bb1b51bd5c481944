package host

import (
	"bytes"
	"context"
	"strings"
	"sync"

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
	if len(value) >= shortestMasked {
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

// maskedLog replaces secrets that were given to the run in what it writes. A secret may
// come in pieces, so the end of a text that could be the beginning of one is held back
// until more comes.
type maskedLog struct {
	TaskLog
	vault *vault

	mu   sync.Mutex
	held []byte
}

func (m *maskedLog) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	secrets := m.vault.values()
	if len(secrets) == 0 && len(m.held) == 0 {
		return m.TaskLog.Write(p)
	}
	text := append(m.held, p...)
	for _, s := range secrets {
		text = bytes.ReplaceAll(text, []byte(s), []byte(mask))
	}
	cut := len(text) - longestBeginning(text, secrets)
	m.held = append([]byte(nil), text[cut:]...)
	if _, err := m.TaskLog.Write(text[:cut]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// longestBeginning is how many bytes at the end of text begin a secret.
func longestBeginning(text []byte, secrets []string) int {
	longest := 0
	for _, s := range secrets {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasPrefix(s, string(text[len(text)-n:])) {
				longest = n
			}
		}
	}
	return longest
}

func (m *maskedLog) Line(level operators.Level, logger, message string) {
	m.release()
	m.TaskLog.Line(level, logger, m.masked(message))
}

func (m *maskedLog) Echo(message string) {
	m.release()
	m.TaskLog.Echo(m.masked(message))
}

func (m *maskedLog) masked(text string) string {
	for _, s := range m.vault.values() {
		text = strings.ReplaceAll(text, s, mask)
	}
	return text
}

func (m *maskedLog) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.held) > 0 {
		m.TaskLog.Write(m.held) // a log never fails its task
		m.held = nil
	}
}

// Close ends the log.
func (m *maskedLog) Close() error {
	m.release()
	return m.TaskLog.Close()
}
