//go:build linux

package main

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// api is the client for the server side, and for the store that it provides links to.
type api struct {
	url, token string // the ticket, until the runner has joined
	machine    string // see settings
	client     *http.Client
	places     *places // given in advance: there is no service to ask
}

// errOver means that, according to the server, the subject of a request has ended and needs no further work.
var errOver = errors.New("this is over")

// errRefused is the store's response to an invalid link; another link may work.
var errRefused = errors.New("the store refuses it")

// callTime limits one call. It is longer than the function for machines may take (20 s, see infra/deployment): an
// abandoned call may still take effect.
const callTime = 25 * time.Second

func newAPI(s settings) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots(), MinVersion: tls.VersionTLS12}
	transport.MaxIdleConnsPerHost = 8
	return &api{url: s.url, token: s.ticket, machine: s.machine, client: &http.Client{Transport: transport, CheckRedirect: follow}}
}

// follow allows a few redirects, without a Referer: links to the store contain a signature.
func follow(next *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	next.Header.Del("Referer")
	return nil
}

// roots returns the image's certificates and the ones next to this program: many images have none.
func roots() *x509.CertPool {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if program, err := os.Executable(); err == nil {
		if text, err := os.ReadFile(filepath.Join(filepath.Dir(program), "ca.pem")); err == nil {
			pool.AppendCertsFromPEM(text)
		}
	}
	return pool
}

// call makes one call; answer may be nil.
func (a *api) call(ctx context.Context, name string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url+"/runner/"+name, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	out, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer out.Body.Close()
	if out.StatusCode == http.StatusGone {
		return errOver
	}
	if out.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(out.Body, 200)) // for the message only
		return fmt.Errorf("%s: %s: %s", name, out.Status, bytes.TrimSpace(text))
	}
	if answer == nil {
		_, err = io.Copy(io.Discard, out.Body)
		return err
	}
	return json.NewDecoder(out.Body).Decode(answer)
}

// join exchanges the ticket for a pass. The secret is chosen here, so that the request can be retried if the response
// is lost, but only by this runner.
func (a *api) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deafTime)
	defer cancel()
	body := joining{Secret: cryptorand.Text(), Machine: a.machine}
	var answer joined
	if err := a.insist(ctx, func() error { return a.call(ctx, "join", body, &answer) }); err != nil {
		return err
	}
	a.token = answer.Pass
	return nil
}

// fewTries is the number of tries on a function, which must not wait long.
const fewTries = 6

// insist calls do until it succeeds, its subject has ended, or ctx ends: the API or the store may be unresponsive or
// throttling for a while. A function makes only a few tries.
func (a *api) insist(ctx context.Context, do func() error) error {
	for try := 0; ; try++ {
		err := do()
		if err == nil || errors.Is(err, errOver) || ctx.Err() != nil || a.places != nil && try+1 >= fewTries {
			return err
		}
		if !sleep(ctx, backOff(try)) {
			return err
		}
	}
}

// mostRefused is how many times the store may refuse the output of a command, each time with a new link, within a
// minute: the first link may have expired, but repeated refusals are permanent.
const mostRefused = 10

// deliver is insist for the output of a command, so that its end is reported in any case: it gives up after repeated
// refusals, and after any failure once the API has been unavailable for the maximum time.
func (a *api) deliver(ctx context.Context, do func() error) error {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	began, refused := time.Now(), 0
	return a.insist(ctx, func() error {
		err := do()
		if errors.Is(err, errRefused) {
			refused++
		}
		if refused == mostRefused || time.Since(began) > deafTime {
			giveUp()
		}
		return err
	})
}

// backOff returns how long to wait after a failure: 0.2 s, 0.4 s ... 10 s, plus a random part of up to half of that.
func backOff(try int) time.Duration {
	wait := min(200*time.Millisecond<<min(try, 6), 10*time.Second)
	return wait + rand.N(wait/2) // #nosec G404 -- randomness spreads the retries of many runners, and an attacker gains nothing by guessing it
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// place returns where something may be uploaded.
func (a *api) place(ctx context.Context, w wanted) (g given, err error) {
	if a.places != nil {
		return a.places.place(w.Upload)
	}
	err = a.call(ctx, "url", w, &g)
	return g, err
}

// unlinked removes the link from an error: its query is a signature, and errors are printed and reported.
func unlinked(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// put stores content at a link.
func (a *api) put(ctx context.Context, link, contentType string, content []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, link, bytes.NewReader(content))
	if err != nil {
		return unlinked(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	out, err := a.client.Do(r)
	if err != nil {
		return fmt.Errorf("store: %w", unlinked(err))
	}
	defer out.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(out.Body, 300)) // for the message only
	switch {
	case out.StatusCode/100 == 2:
		return nil
	case refused(out.StatusCode):
		return fmt.Errorf("%w: %s: %s", errRefused, out.Status, bytes.TrimSpace(text))
	}
	return fmt.Errorf("store: %s: %s", out.Status, bytes.TrimSpace(text))
}

// get opens the content of a link. If the store is down or throttling, it retries for as long as the API may be
// unavailable, which is as long as the link is valid; a function does not, since it has no time for that.
func (a *api) get(ctx context.Context, link string) (io.ReadCloser, error) {
	began := time.Now()
	for try := 0; ; try++ {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err != nil {
			return nil, unlinked(err)
		}
		few := a.places != nil
		out, err := a.client.Do(r)
		if err == nil {
			if out.StatusCode == http.StatusOK {
				return out.Body, nil
			}
			out.Body.Close()
			few = few || refused(out.StatusCode)
			err = errors.New(out.Status)
		}
		if few && try+1 >= fewTries || time.Since(began) > deafTime || !sleep(ctx, backOff(try)) {
			return nil, fmt.Errorf("store: %w", unlinked(err))
		}
	}
}

// refused reports whether a status means that a retry will not help.
func refused(status int) bool {
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}
