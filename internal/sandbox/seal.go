package sandbox

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Seal stands for a secret in a Spec: every occurrence of its value is replaced by Mark. The replacement can be
// reversed exactly, no matter what other text looks like the secret.
type Seal struct {
	Key  string `json:"key"` // the project's secret
	Mark string `json:"mark"`
}

// seal replaces secrets in a command, longest first, so that a secret that is part of another does not split it. nonce
// makes marks unique in the command.
func seal(s Spec, secrets map[string]string, nonce []byte) Spec {
	keys := slices.SortedFunc(maps.Keys(secrets), func(a, b string) int {
		return cmp.Or(len(secrets[b])-len(secrets[a]), strings.Compare(a, b))
	})
	for i, key := range keys {
		if secrets[key] == "" {
			continue
		}
		x := Seal{Key: key, Mark: fmt.Sprintf("\x02%s.%d\x03", hex.EncodeToString(nonce), i)}
		s = s.replaced(secrets[key], x.Mark)
		s.Secrets = append(s.Secrets, x)
	}
	return s
}

// open reverses seal, in the opposite order.
func (s Spec) open(secrets map[string]string) (Spec, error) {
	for _, x := range slices.Backward(s.Secrets) {
		value, found := secrets[x.Key]
		if !found {
			return s, fmt.Errorf("the secret %s was deleted after the task began", x.Key)
		}
		s = s.replaced(x.Mark, value)
	}
	return s, nil
}

func (s Spec) replaced(old, with string) Spec {
	each := func(list []string) []string {
		out := make([]string, len(list))
		for i, text := range list {
			out[i] = strings.ReplaceAll(text, old, with)
		}
		return out
	}
	s.Args, s.Env = each(s.Args), each(s.Env)
	files := make(map[string][]byte, len(s.Files))
	for name, content := range s.Files {
		files[name] = bytes.ReplaceAll(content, []byte(old), []byte(with))
	}
	s.Files = files
	return s
}
