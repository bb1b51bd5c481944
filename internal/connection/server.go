package connection

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/magiconair/properties"

	"zerodag/internal/configuration"
	"zerodag/internal/files"
	"zerodag/internal/plainfile"
	"zerodag/internal/program"
	"zerodag/internal/term"
)

// Server is a context: a named server of the user, with its address and the way in which requests authenticate. Its
// credentials are sent only to its own address.
type Server struct {
	Name, Endpoint, Token string
	IAM                   bool
	warning               string // warns that others can or could read the token in its file
}

// Keys in a context's file.
const (
	iamKey   = "client.http.iam"
	tokenKey = "client.http.token" // #nosec G101 -- the name of a key
)

// contextFolder returns the folder with a file for each context; the file currentContext holds the name of the context
// in use.
func contextFolder() string { return filepath.Join(configuration.Folder(), "contexts") }

func currentContext() string { return filepath.Join(configuration.Folder(), "context") }

// CheckName returns a command-line error if the name of a context would lead to a file in another folder.
func CheckName(name string) error {
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/\\\x00\r\n") {
		return program.UsageError(fmt.Errorf("%q is not a valid context name: use letters, digits, - and _", name))
	}
	return nil
}

// Load reads a context. If it does not exist, the error lists the existing ones.
func Load(name string) (*Server, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	path := filepath.Join(contextFolder(), name)
	text, warning, err := files.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		names, _ := Names() // the existing names; empty if the folder cannot be read
		hint := "zerodag context set " + term.ShellWord(name) + " -e URL creates it"
		if len(names) > 0 {
			hint = "existing contexts: " + strings.Join(names, ", ")
		}
		return nil, fmt.Errorf("there is no context %s (%s)", name, hint)
	}
	if err != nil {
		return nil, fmt.Errorf("read context %s: %w", name, err)
	}
	s := configuration.Settings{}
	if err := s.AddText(path, string(text)); err != nil {
		return nil, err
	}
	c := &Server{Name: name, Endpoint: s[configuration.EndpointKey], Token: s[tokenKey]}
	if c.Token != "" {
		c.warning = warning
	}
	if c.IAM, err = enabled("key "+iamKey+" of "+path, s[iamKey]); err != nil {
		return nil, err
	}
	if c.Endpoint == "" {
		return nil, fmt.Errorf("context %s has no %s in %s (set it with: zerodag context set %s -e URL)", name, configuration.EndpointKey, path, term.ShellWord(name))
	}
	if err := CheckAddress(c.Endpoint); err != nil {
		return nil, fmt.Errorf("context %s has an invalid %s in %s: %w", name, configuration.EndpointKey, path, err)
	}
	return c, nil
}

// CheckAddress returns an error if a string is not a server address, or contains a user name and password, which lists
// would show.
func CheckAddress(endpoint string) error {
	if strings.Contains(endpoint, "@") {
		return errors.New("the address of a context must not contain a user and password, because lists show it: use --token or --iam")
	}
	full := endpoint
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is not a server address: write, for example, https://flows.example.com or 127.0.0.1:65432", endpoint)
	}
	return nil
}

// Save writes the context to a file that only its owner can read.
func (c *Server) Save() error {
	p := properties.NewProperties()
	p.DisableExpansion = true
	pairs := [][2]string{{configuration.EndpointKey, c.Endpoint}, {tokenKey, c.Token}}
	if c.IAM {
		pairs = append(pairs, [2]string{iamKey, "true"})
	}
	for _, pair := range pairs {
		if pair[1] == "" {
			continue
		}
		if _, _, err := p.Set(pair[0], pair[1]); err != nil {
			return fmt.Errorf("save context %s: %w", c.Name, err)
		}
	}
	var text bytes.Buffer
	if _, err := p.Write(&text, properties.UTF8); err != nil {
		return fmt.Errorf("save context %s: %w", c.Name, err)
	}
	return plainfile.WriteSecret(filepath.Join(contextFolder(), c.Name), text.Bytes())
}

// Who returns how requests authenticate: token, AWS credentials, or -.
func (c *Server) Who() string {
	switch {
	case c.IAM:
		return "AWS credentials"
	case c.Token != "":
		return "token"
	}
	return "-"
}

// Names returns the names of all contexts, sorted.
func Names() ([]string, error) {
	list, err := os.ReadDir(contextFolder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list contexts: %w", err)
	}
	var names []string
	for _, e := range list {
		if e.Type().IsRegular() && CheckName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// InUse returns the name of the context in use; "" if there is none.
func InUse() (string, error) {
	text, err := os.ReadFile(currentContext())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the context in use: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Use selects the context for later commands.
func (c *Server) Use() error {
	return plainfile.Write(currentContext(), []byte(c.Name+"\n"))
}

// Leave makes later commands use no context.
func Leave() error {
	if err := os.Remove(currentContext()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stop using the current context: %w", err)
	}
	return nil
}

// Forget removes a context, which is then no longer in use. If it does not exist, the error lists the existing ones.
func Forget(name string) error {
	names, err := Names()
	if err != nil {
		return err
	}
	if !slices.Contains(names, name) {
		_, err := Load(name)
		return err
	}
	current, err := InUse()
	if err != nil {
		return err
	}
	if current == name {
		if err := os.Remove(currentContext()); err != nil {
			return fmt.Errorf("delete context %s: %w", name, err)
		}
	}
	if err := os.Remove(filepath.Join(contextFolder(), name)); err != nil {
		return fmt.Errorf("delete context %s: %w", name, err)
	}
	return nil
}
