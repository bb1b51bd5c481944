package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"zerodag/engine/param"
)

// Credential is a key of a service account, or of a user who signed in with `gcloud`. It is a secret: errors and logs
// contain nothing from it except its kind and the address of its tokens.
type Credential struct {
	Project string // of the account; "" if the key names none

	kind, email, keyID, key            string // of a service account
	clientID, clientSecret, refreshKey string // of a user
	tokenAddress                       string
}

// googleTokens is where Google issues tokens for credentials that name no address.
const googleTokens = "https://oauth2.googleapis.com/token" // #nosec G101 -- an address

// ReadCredential reads the JSON that Google issues as a key. Its errors are ConfigErrors: they name what is missing,
// and never show what is present.
func ReadCredential(text string) (*Credential, error) {
	var k struct {
		Type      string `json:"type"`
		ProjectID string `json:"project_id"`
		Email     string `json:"client_email"`
		KeyID     string `json:"private_key_id"`
		Key       string `json:"private_key"`
		ClientID  string `json:"client_id"`
		Secret    string `json:"client_secret"`
		Refresh   string `json:"refresh_token"`
		TokenURI  string `json:"token_uri"`
	}
	if json.Unmarshal([]byte(text), &k) != nil { // its error may contain a part of the key
		return nil, param.Errorf("Unable to parse 'gcp.credential' secret: it is not a JSON key; set it from the key file that Google issued: `zerodag secrets --project NAME --set gcp.credential=@key.json`")
	}
	c := &Credential{Project: k.ProjectID, kind: k.Type, email: k.Email, keyID: k.KeyID, key: k.Key, clientID: k.ClientID, clientSecret: k.Secret,
		refreshKey: k.Refresh, tokenAddress: k.TokenURI}
	switch {
	case k.Type == "service_account" && (k.Email == "" || k.Key == ""):
		return nil, param.Errorf("The 'gcp.credential' secret lacks client_email or private_key: set it from the complete key file of the service account")
	case k.Type == "authorized_user" && (k.ClientID == "" || k.Secret == "" || k.Refresh == ""):
		return nil, param.Errorf("The 'gcp.credential' secret lacks client_id, client_secret or refresh_token: set it from the complete file written by `gcloud auth application-default login`")
	case k.Type != "service_account" && k.Type != "authorized_user":
		return nil, param.Errorf("The 'gcp.credential' secret has the type %q: use a key of type service_account or authorized_user", bounded(k.Type, 40))
	}
	if c.tokenAddress == "" {
		c.tokenAddress = googleTokens
	}
	return c, CheckAddress("token_uri of the 'gcp.credential' secret", c.tokenAddress)
}

// CheckAddress makes sure that a credential and its tokens are never sent without TLS, except to the local machine, on
// which a stand-in for Google may run.
func CheckAddress(what, address string) error {
	at, err := url.Parse(address)
	switch {
	case err != nil || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "":
		return param.Errorf("The %s must be an address such as https://host.example.com/path, without user, query and fragment", what)
	case at.Scheme == "https", at.Scheme == "http" && isHere(at.Hostname()):
		return nil
	}
	return param.Errorf("The %s must begin with https://: keys are never sent unencrypted", what)
}

func isHere(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// TokenError reports that no token was issued for a credential.
type TokenError struct {
	Status int // of the response
	Text   string
}

func (e *TokenError) Error() string {
	return "Google issued no token for the 'gcp.credential' secret: " + e.Text
}

// Kind returns the word that Digdag users see after the text.
func (e *TokenError) Kind() string { return "token response" }

// token requests a token, with the client of the task. A response from an address that is not Google's could be
// anything: only the fields that OAuth defines for errors are shown.
func (c *Credential) token(ctx context.Context, client *http.Client, scope string) (string, error) {
	watch := &watched{ctx: ctx, under: client.Transport}
	through := context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: watch, CheckRedirect: client.CheckRedirect})
	var source oauth2.TokenSource
	if c.kind == "service_account" {
		of := &jwt.Config{Email: c.email, PrivateKey: []byte(c.key), PrivateKeyID: c.keyID, Scopes: []string{scope}, TokenURL: c.tokenAddress}
		source = of.TokenSource(through)
	} else {
		of := &oauth2.Config{ClientID: c.clientID, ClientSecret: c.clientSecret, Endpoint: oauth2.Endpoint{TokenURL: c.tokenAddress, AuthStyle: oauth2.AuthStyleInParams}}
		source = of.TokenSource(through, &oauth2.Token{RefreshToken: c.refreshKey})
	}
	token, err := source.Token()
	if err == nil && token.AccessToken != "" && !strings.ContainsFunc(token.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return token.AccessToken, nil
	}
	var answer *oauth2.RetrieveError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("get a token: %w", ctx.Err())
	case watch.failed != nil:
		return "", unanswered(request{method: http.MethodPost, path: "a token"}, watch.failed)
	case watch.status == 0:
		return "", param.Errorf("The 'gcp.credential' secret has no readable private_key: set it from the unchanged key file that Google issued")
	case errors.As(err, &answer):
		return "", &TokenError{Status: watch.status, Text: fmt.Sprintf("%d %s%s", watch.status, http.StatusText(watch.status), oauthWords(answer.Body))}
	}
	return "", &Unreadable{Path: "a request for a token", Why: "it has no token"}
}

// oauthWords returns the error in an OAuth response; "" if the response has a different form.
func oauthWords(content []byte) string {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if json.Unmarshal(content, &said) != nil || said.Error == "" {
		return ""
	}
	return ": " + bounded(said.Error, 100) + " " + bounded(said.Description, 400)
}

// watched cancels requests through a context that the library does not pass on, and remembers how the last one ended.
type watched struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call
	under  http.RoundTripper
	failed error
	status int
}

// RoundTrip implements http.RoundTripper.
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	under := w.under
	if under == nil {
		under = http.DefaultTransport
	}
	answer, err := under.RoundTrip(r.WithContext(w.ctx))
	w.failed, w.status = err, 0
	if err == nil {
		w.status = answer.StatusCode
	}
	return answer, err
}
