package connection

import (
	"errors"
	"fmt"
	"strings"

	"zerodag/internal/program"
)

// access describes how requests authenticate.
type access struct {
	token  string // bearer token
	iam    bool   // signed with AWS credentials
	source string // its origin, for messages
}

// String completes "the request was made ...".
func (a access) String() string {
	switch {
	case a.iam:
		return "with a signature by AWS credentials (" + a.source + ")"
	case a.token != "":
		return "with the token of " + a.source
	case a.source != "":
		return "with " + a.source
	}
	return "without a token"
}

// enabled reads a switch: 1 or true is on; 0, false or an empty string is off.
func enabled(what, text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true":
		return true, nil
	case "", "0", "false":
		return false, nil
	}
	return false, fmt.Errorf("%s must be true or false but is %q", what, text)
}

// access returns how a context's requests authenticate.
func (s *Server) access() access {
	if s.IAM {
		return access{iam: true, source: "context " + s.Name}
	}
	return access{token: s.Token, source: "context " + s.Name}
}

// access decides how requests authenticate. The command line takes precedence over the context that names the server,
// followed by the environment and the configuration. In the environment, IAM takes precedence over a token.
func (c *Choice) access(env func(string) string, named *Server) (access, error) {
	if c.IAM && (c.Token != "" || c.BasicAuth != "") {
		return access{}, program.UsageError(errors.New("--iam cannot be used together with --token or --basic-auth"))
	}
	byEnv, err := enabled("environment variable ZERODAG_IAM", env("ZERODAG_IAM"))
	if err != nil {
		return access{}, err
	}
	byConfig, err := enabled("configuration key client.http.iam", c.Settings["client.http.iam"])
	if err != nil {
		return access{}, err
	}
	switch {
	case c.IAM:
		return access{iam: true, source: "--iam"}, nil
	case c.BasicAuth != "":
		return access{source: "--basic-auth"}, nil
	case c.Token != "":
		return access{token: c.Token, source: "--token"}, nil
	case named != nil && (named.IAM || named.Token != ""):
		return named.access(), nil
	case byEnv:
		return access{iam: true, source: "ZERODAG_IAM"}, nil
	case env("ZERODAG_TOKEN") != "":
		return access{token: env("ZERODAG_TOKEN"), source: "ZERODAG_TOKEN"}, nil
	case byConfig:
		return access{iam: true, source: "client.http.iam"}, nil
	}
	return access{}, nil
}
