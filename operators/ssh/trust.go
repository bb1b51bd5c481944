package ssh

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"zerodag/engine/param"
	"zerodag/operators"
)

// trust decides which server key is accepted for the task.
type trust struct {
	callback   ssh.HostKeyCallback
	algorithms []string // of the known keys; nil for any
}

// unknownKeyError is the error about a server whose key the task does not name.
type unknownKeyError struct{ address, fingerprint, kind string }

func (e *unknownKeyError) Error() string {
	return fmt.Sprintf("The task does not trust the host key of %s: %s (%s). If the server's administrator confirms this key, "+
		"write `host_key: \"%[2]s\"`. If the task trusted a different key before, the connection may be intercepted", e.address, e.fingerprint, e.kind)
}

// readTrust reads `host_key` and the secret `ssh.known_hosts`. Without them, no server is trusted, and the error shows
// the server's key; `host_key_checking: false` trusts any, like the Digdag plugin.
func readTrust(t *operators.Task, p *operators.Params, host, address string) (trust, error) {
	check, err := p.BoolOr("host_key_checking", true)
	if err != nil {
		return trust{}, err
	}
	written, err := operators.ReadOr(p, "host_key", operators.Words, nil)
	if err != nil {
		return trust{}, err
	}
	secret, err := t.OptionalSecret("ssh.known_hosts")
	if err != nil {
		return trust{}, err
	}
	if !check {
		return trust{callback: ssh.InsecureIgnoreHostKey()}, nil // #nosec G106 -- the task disables the check
	}
	k := &knownKeys{address: address}
	for _, text := range written {
		if err := k.add(text); err != nil {
			return trust{}, err
		}
	}
	if err := k.addFile([]byte(secret), host, address); err != nil {
		return trust{}, err
	}
	return trust{callback: k.look, algorithms: k.algorithms()}, nil
}

// knownKeys are the keys that a server may have.
type knownKeys struct {
	address      string
	fingerprints []string
	keys         []ssh.PublicKey
}

// add adds a fingerprint, or a key, written as a line of authorized_keys.
func (k *knownKeys) add(text string) error {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "SHA256:") {
		k.fingerprints = append(k.fingerprints, strings.TrimRight(text, "="))
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
	if err != nil {
		return param.Errorf("Invalid host_key: %q (write a fingerprint such as SHA256:..., or a public key such as ssh-ed25519 AAAA...)", text)
	}
	k.keys = append(k.keys, key)
	return nil
}

// addFile adds the keys of a host from lines of a known_hosts file.
func (k *knownKeys) addFile(text []byte, host, address string) error {
	names := []string{host, "[" + host + "]:" + portOf(address), address}
	for len(bytes.TrimSpace(text)) > 0 {
		marker, hosts, key, _, rest, err := ssh.ParseKnownHosts(text)
		if err != nil {
			return param.Errorf("The secret ssh.known_hosts has an invalid line")
		}
		text = rest
		if marker == "" && slices.ContainsFunc(hosts, func(h string) bool { return slices.Contains(names, h) }) {
			k.keys = append(k.keys, key)
		}
	}
	return nil
}

func portOf(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return port
}

// algorithms returns the known keys' algorithms, so that a server with several keys presents one of these; nil if a
// fingerprint may belong to any.
func (k *knownKeys) algorithms() []string {
	if len(k.fingerprints) > 0 || len(k.keys) == 0 {
		return nil
	}
	var list []string
	for _, key := range k.keys {
		if kind := key.Type(); kind == ssh.KeyAlgoRSA {
			list = append(list, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512)
		} else {
			list = append(list, kind)
		}
	}
	return list
}

func (k *knownKeys) look(_ string, _ net.Addr, key ssh.PublicKey) error {
	found := ssh.FingerprintSHA256(key)
	same := func(other ssh.PublicKey) bool { return bytes.Equal(other.Marshal(), key.Marshal()) }
	if slices.Contains(k.fingerprints, found) || slices.ContainsFunc(k.keys, same) {
		return nil
	}
	return &unknownKeyError{k.address, found, key.Type()}
}
