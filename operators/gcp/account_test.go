package gcp_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"zerodag/engine/param"
	"zerodag/integration/fake"
	"zerodag/integration/gcpfake"
	"zerodag/internal/egress"
	"zerodag/internal/httpclient"
	"zerodag/operators/operatortest"
)

// TestAccount checks that the errors for invalid secrets come before anything is sent and contain no part of a key.
func TestAccount(t *testing.T) {
	t.Parallel()
	without := func(key string) func(v operatortest.Vault) {
		return func(v operatortest.Vault) {
			m, err := param.ParseJSON(v["gcp.credential"])
			if err != nil {
				t.Error(err)
			}
			v["gcp.credential"] = param.Text(m.(*param.Map).Without(key))
		}
	}
	set := func(key, value string) func(v operatortest.Vault) {
		return func(v operatortest.Vault) {
			m, err := param.ParseJSON(v["gcp.credential"])
			if err != nil {
				t.Error(err)
			}
			changed := m.(*param.Map).Clone()
			changed.Set(key, value)
			v["gcp.credential"] = param.Text(changed)
		}
	}
	for _, c := range []struct {
		change func(v operatortest.Vault)
		want   string
	}{
		{func(v operatortest.Vault) { delete(v, "gcp.credential") }, "Could not get google cloud credential: need gcp.credential secret; set the key of a service account: `zerodag secrets --project NAME --set gcp.credential=@key.json`"},
		{func(v operatortest.Vault) { v["gcp.credential"] = "-----BEGIN secret" }, "Unable to parse 'gcp.credential' secret: it is not a JSON key; set it from the key file that Google issued: `zerodag secrets --project NAME --set gcp.credential=@key.json`"},
		{without("project_id"), "Missing 'gcp.project' secret: the credential does not name a project, so set it: `zerodag secrets --project NAME --set gcp.project`"},
		{without("private_key"), "The 'gcp.credential' secret lacks client_email or private_key: set it from the complete key file of the service account"},
		{set("private_key", "nonsense"), "The 'gcp.credential' secret has no readable private_key: set it from the unchanged key file that Google issued"},
		{set("type", "external_account"), `The 'gcp.credential' secret has the type "external_account": use a key of type service_account or authorized_user`},
		{set("type", "authorized_user"), "The 'gcp.credential' secret lacks client_id, client_secret or refresh_token: set it from the complete file written by `gcloud auth application-default login`"},
		{set("token_uri", "http://example.com/token"), "The token_uri of the 'gcp.credential' secret must begin with https://: keys are never sent unencrypted"},
		{set("token_uri", "file:///etc/passwd"), "The token_uri of the 'gcp.credential' secret must be an address such as https://host.example.com/path, without user, query and fragment"},
		{func(v operatortest.Vault) { v["gcp.storage.endpoint"] = "http://example.com" }, "The 'gcp.storage.endpoint' secret must begin with https://: keys are never sent unencrypted"},
	} {
		b := newBed(t)
		w := b.world(t, `{"_command": "b/o"}`)
		c.change(w.Vault)
		same(t, operatortest.Ended{Error: c.want, Kind: "config"}, operatortest.RunOnce(t, operator(t, "gcs_wait"), w))
		if len(b.Requests()) != 0 {
			t.Errorf("%s: %d requests", c.want, len(b.Requests()))
		}
	}
}

// TestPerson checks that a user's key works for a project that the secret names, and that the secret takes precedence
// over the key's project.
func TestPerson(t *testing.T) {
	t.Parallel()
	for _, credential := range []func(string) string{gcpfake.Credential, gcpfake.UserCredential} {
		b := newBed(t)
		w := b.world(t, `{"query": "select 1"}`)
		w.Vault["gcp.credential"], w.Vault["gcp.project"] = credential(b.address), " other\n"
		got := operatortest.UntilDone(t, operator(t, "bq"), w)
		if got.Error != "" || !strings.Contains(got.Store, `"last_job_id":"other:US.digdag_`) {
			t.Errorf("%+v", got)
		}
	}
}

// TestToken checks that a credential that Google does not accept fails the task at once with OAuth's message, that no
// error shows a response in any other format, and that a request is retried after a temporary failure.
func TestToken(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}`: "Operation failed: Google issued no token for the 'gcp.credential' secret: 400 Bad Request: invalid_grant Invalid JWT Signature. (token response)",
		"root:x:0:0: what is inside": "Operation failed: Google issued no token for the 'gcp.credential' secret: 400 Bad Request (token response)",
	} {
		b := newBed(t)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, content, http.StatusBadRequest) }))
		defer s.Close()
		w := b.world(t, `{"_command": "b/o"}`)
		w.Vault["gcp.credential"] = gcpfake.Credential(s.URL)
		same(t, want, operatortest.RunOnce(t, operator(t, "gcs_wait"), w).Error)
	}
	b := newBed(t)
	w := b.world(t, `{"_command": "b/o"}`)
	for _, fault := range []fake.Fault{fake.Throttled, fake.Broken, fake.Away, fake.Cut, fake.Lost, fake.Half} {
		b.Fail(fake.Faults{Every: fault, Path: "/token"})
		operatortest.Waits(t, operator(t, "gcs_wait"), w, 1)
		w.State = nil
	}
}

// TestAddressesThatAreRefused checks that the address in a key, and the address of an API, are only contacted if tasks
// may connect to them, and that a refusal fails the task at once.
func TestAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	w := b.world(t, `{"_command": "b/o"}`)
	w.HTTP = &httpclient.Clients{Network: &egress.Dialer{}}
	got := operatortest.RunOnce(t, operator(t, "gcs_wait"), w)
	if !strings.Contains(got.Error, "127.0.0.1 is an address of the machine that runs this task") {
		t.Errorf("%+v", got)
	}
	w.HTTP = &httpclient.Clients{Network: except{strings.TrimPrefix(b.address, "http://")}}
	w.Vault["gcp.storage.endpoint"] = "https://localhost:1"
	if got = operatortest.RunOnce(t, operator(t, "gcs_wait"), w); !strings.Contains(got.Error, "GET /storage/v1/b/b/o/o: ") || !strings.Contains(got.Error, "tasks must not connect there") {
		t.Errorf("%+v", got)
	}
}

// except is a network that refuses all local addresses except one.
type except struct{ address string }

func (e except) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&egress.Dialer{Except: []string{e.address}}).DialContext(ctx, network, address)
}

// TestNoRedirect checks that neither a key nor a token is sent to the target of a redirect.
func TestNoRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer elsewhere.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	b := newBed(t)
	w := b.world(t, `{"_command": "b/o"}`)
	w.Vault["gcp.storage.endpoint"] = s.URL
	first := operatortest.RunOnce(t, operator(t, "gcs_wait"), w)
	w.Vault["gcp.credential"] = gcpfake.Credential(s.URL)
	second := operatortest.RunOnce(t, operator(t, "gcs_wait"), w)
	if reached.Load() != 0 || first.Error == "" || second.Error == "" {
		t.Errorf("%d requests went there: %+v, %+v", reached.Load(), first, second)
	}
}

// TestNothingLeaks checks that a task's log, state, stored values and error never contain a part of a key or a token,
// whatever fails.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	for _, fault := range append(faults(), fake.None) {
		for _, path := range []string{"/token", "/bigquery"} {
			b := newBed(t)
			w := b.world(t, `{`+script(`{"looks": 1}`)+`}`)
			w.Vault["gcp.credential"] = gcpfake.UserCredential(b.address)
			w.Vault["gcp.project"] = "p"
			w.State = operatortest.Look(t, operator(t, "bq"), w).State
			b.Fail(fake.Faults{Every: fault, Path: path})
			seen := ""
			for range 3 {
				got := operatortest.RunOnce(t, operator(t, "bq"), w)
				seen += got.Error + got.Store + w.Output.String() + param.Text(w.State)
			}
			for _, secret := range []string{"1//refresh", "ya29", "PRIVATE", "s1\"", "Bearer"} {
				if strings.Contains(seen, secret) {
					t.Errorf("%s of %s: %q is in\n%s", fault, path, secret, seen)
				}
			}
		}
	}
}
