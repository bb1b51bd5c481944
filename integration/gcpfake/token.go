package gcpfake

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"sync"

	"zerodag/engine/param"

	"zerodag/integration/fake"
)

// tokenPath is the path of the token endpoint.
const tokenPath = "/token"

// account and refreshKey are the recipients of tokens.
const (
	account    = "robot@my-project.iam.gserviceaccount.com"
	refreshKey = "1//refresh"
)

// key returns the account's key. It is made only once, because that takes a fraction of a second.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // it fails only on a machine without randomness
	}
	return k
})

// Credential returns the key of the service account, for the secret gcp.credential. address is the address of the
// server.
func Credential(address string) string {
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		panic(err) // every RSA key can be encoded
	}
	return param.Text(param.New("type", "service_account", "project_id", Project, "private_key_id", "k1", "client_id", "1", "client_email", account,
		"private_key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri", address+tokenPath))
}

// UserCredential returns the credential of a user.
func UserCredential(address string) string {
	return param.Text(param.New("type", "authorized_user", "client_id", "c1", "client_secret", "s1", "refresh_token", refreshKey, "token_uri", address+tokenPath))
}

// tokens holds the issued tokens with their scopes.
type tokens struct{ given map[string]string }

// scope returns the scope of the token in a header.
func (t *tokens) scope(header string) (string, bool) {
	scope, known := t.given[strings.TrimPrefix(header, "Bearer ")]
	return scope, known && strings.HasPrefix(header, "Bearer ")
}

// allows reports whether a token with some scopes is valid for a method.
func allows(scopes, method string) bool {
	for scope := range strings.FieldsSeq(scopes) {
		if strings.HasSuffix(scope, "/cloud-platform") || strings.HasPrefix(method, "storage.") && strings.HasSuffix(scope, "/devstorage.read_only") {
			return true
		}
	}
	return false
}

// give answers a request for a token.
func (t *tokens) give(q fake.Request) answer {
	form := q.Form
	scope := "https://www.googleapis.com/auth/cloud-platform" // the scope that a user has granted
	switch form.Get("grant_type") {
	case "refresh_token":
		if form.Get("refresh_token") != refreshKey || form.Get("client_id") != "c1" || form.Get("client_secret") != "s1" {
			return denied("invalid_grant", "Token has been expired or revoked.")
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		var why string
		if scope, why = claimed(form.Get("assertion")); why != "" {
			return denied("invalid_grant", why)
		}
	default:
		return denied("unsupported_grant_type", "Invalid grant_type")
	}
	token := "ya29." + rand.Text()
	t.given[token] = scope
	return said(http.StatusOK, param.Text(param.New("access_token", token, "expires_in", int64(3599), "token_type", "Bearer")))
}

// claimed returns the scope that a signed request claims, or what is wrong with the request.
func claimed(assertion string) (scope, why string) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return "", "Invalid JWT: it does not have three parts"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return "", "Invalid JWT Signature."
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return "", "Invalid JWT Signature."
	}
	var claims struct{ Iss, Scope, Aud string }
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return "", "Invalid JWT: no claims"
	}
	if claims.Iss != account || !strings.HasSuffix(claims.Aud, tokenPath) {
		return "", "Invalid grant: account not found"
	}
	return claims.Scope, ""
}

func denied(reason, text string) answer {
	return said(http.StatusBadRequest, param.Text(param.New("error", reason, "error_description", text)))
}
