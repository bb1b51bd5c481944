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

// api is the other side, and the store that it gives links to.
type api struct {
	url, token string // the ticket, until it has joined
	machine    string // see settings
	client     *http.Client
	places     *places // given beforehand: there is no service to ask
}

// errOver is what the other side says of things that are over: they are to be left.
var errOver = errors.New("this is over")

// errRefused is what the store says of a link that leads nowhere; another one may.
var errRefused = errors.New("the store refuses it")

// callTime bounds one call. It is longer than the function of machines may take (20 s, see
// infra/deployment): what was given up may still be carried out.
const callTime = 25 * time.Second

func newAPI(s settings) *api {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots(), MinVersion: tls.VersionTLS12}
	transport.MaxIdleConnsPerHost = 8
	return &api{url: s.url, token: s.ticket, machine: s.machine, client: &http.Client{Transport: transport, CheckRedirect: follow}}
}

// follow lets a request be redirected a few times, without a word of where it comes from: links to
// the store hold a signature.
func follow(next *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	next.Header.Del("Referer")
	return nil
}

// roots are the certificates of the image and those that were put beside this program: many
// images have none.
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

// join exchanges the ticket for a pass. The secret is chosen here, so that it can be said again
// when the answer is lost, and by nobody else.
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

// fewTries is how often something is tried that nobody waits for long: on a function.
const fewTries = 6

// insist does something until it succeeds, is over, or ctx ends: that the API or the store
// does not answer, or throttles, passes. On a function there is no time for that.
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

// mostRefused is how often the store may refuse what a command has left, each time with a link of
// its own, within a minute: the first may have expired, another one fares no better for good.
const mostRefused = 10

// deliver is insist for what a command has left, so that its end is told in any case: it gives up
// what is refused again and again, and anything after as long as the API may be away.
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

// backOff is how long to wait after a failure: 0.2 s, 0.4 s ... 10 s, and up to half as much
// by chance.
func backOff(try int) time.Duration {
	wait := min(200*time.Millisecond<<min(try, 6), 10*time.Second)
	return wait + rand.N(wait/2) // #nosec G404 -- chance spreads the tries of many runners, an attacker gains nothing by guessing it
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

// place is where something may be put.
func (a *api) place(ctx context.Context, w wanted) (g given, err error) {
	if a.places != nil {
		return a.places.place(w.Upload)
	}
	err = a.call(ctx, "url", w, &g)
	return g, err
}

// unlinked takes the link out of an error: its query is a signature, and errors are printed, and
// told to people.
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

// get opens what is behind a link. That the store is away or throttles passes, and is waited for as long
// as the API may be away, which is as long as the link is good; a function has no time for that.
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

// refused says of a status that asking again will not help.
func refused(status int) bool {
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests
}
