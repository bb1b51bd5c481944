package main

import (
	"errors"
	"fmt"
	"strings"
)

// access is how requests show who makes them.
type access struct {
	token  string // of the bearer
	iam    bool   // signed with AWS credentials
	source string // what says so, for people
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

// findAccess decides how requests show who makes them: the command line over the context that names the
// server over the environment over the configuration, and in the environment IAM over a token.
func (r *remote) findAccess(env func(string) string, named *serverContext) (access, error) {
	given := 0
	for _, is := range []bool{r.token != "", r.iam, r.basicAuth != ""} {
		if is {
			given++
		}
	}
	if given > 1 && r.iam {
		return access{}, usageError{errors.New("--iam cannot be used together with --token or --basic-auth")}
	}
	byEnv, err := enabled("environment variable ZERODAG_IAM", env("ZERODAG_IAM"))
	if err != nil {
		return access{}, err
	}
	byConfig, err := enabled("configuration key client.http.iam", r.settings["client.http.iam"])
	if err != nil {
		return access{}, err
	}
	switch {
	case r.iam:
		return access{iam: true, source: "--iam"}, nil
	case r.basicAuth != "":
		return access{source: "--basic-auth"}, nil
	case r.token != "":
		return access{token: r.token, source: "--token"}, nil
	case named != nil && named.iam:
		return access{iam: true, source: "context " + named.name}, nil
	case named != nil && named.token != "":
		return access{token: named.token, source: "context " + named.name}, nil
	case byEnv:
		return access{iam: true, source: "ZERODAG_IAM"}, nil
	case env("ZERODAG_TOKEN") != "":
		return access{token: env("ZERODAG_TOKEN"), source: "ZERODAG_TOKEN"}, nil
	case byConfig:
		return access{iam: true, source: "client.http.iam"}, nil
	}
	return access{}, nil
}

// enabled reads a switch: 1 or true, 0, false or nothing.
func enabled(what, text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true":
		return true, nil
	case "", "0", "false":
		return false, nil
	}
	return false, fmt.Errorf("%s must be true or false but is %q", what, text)
}
