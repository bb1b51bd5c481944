//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// How much text waits before it is compressed, how large a part may become, and how often
// what is new is sent: those who watch see it within two seconds.
const (
	gathered  = 64 << 10
	partSize  = 1 << 20
	flushTime = time.Second
)

// output is the log of one command: what it writes, without secrets, in parts that are
// objects. A part is stored again and again while it grows.
type output struct {
	api     *api
	key     string
	mask    masker
	limit   int64
	exceed  func() // called once when the limit is passed
	refused func() // called when the command says that it cannot start a process

	mu     sync.Mutex
	text   []byte
	part   bytes.Buffer
	began  time.Time // of the part
	stored int
	url    string
	total  int64
	closed bool
	short  []byte // all of it, where it goes with the result

	storing sync.Mutex
}

// Write takes output as it comes. It never fails: a command must not block on its log.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if bytes.Contains(p, []byte("annot fork")) || bytes.Contains(p, []byte("fork: ")) || bytes.Contains(p, []byte("fork(2)")) {
		o.refused()
	}
	before := o.total
	o.total += int64(len(p))
	if o.limit > 0 && o.total > o.limit {
		if before <= o.limit {
			o.add(o.mask.pass(p[:o.limit-before]))
			o.exceed()
		}
		return len(p), nil
	}
	o.add(o.mask.pass(p))
	return len(p), nil
}

func (o *output) add(p []byte) {
	if len(p) == 0 {
		return
	}
	if o.began.IsZero() {
		o.began = time.Now()
	}
	if o.text = append(o.text, p...); len(o.text) >= gathered {
		o.compress()
	}
}

func (o *output) compress() {
	if len(o.text) == 0 {
		return
	}
	w := gzip.NewWriter(&o.part) // to memory: no errors
	w.Write(o.text)
	w.Close()
	o.text = o.text[:0]
}

// follow sends what is new until ctx ends.
func (o *output) follow(ctx context.Context) {
	for sleep(ctx, flushTime) {
		if err := o.store(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "runner: log of command %s: %v\n", o.key, err)
		}
	}
}

// close sends the rest.
func (o *output) close(ctx context.Context) error {
	o.mu.Lock()
	o.add(o.mask.rest())
	o.closed = true
	o.mu.Unlock()
	if o.api.places != nil && o.keepShort() {
		return nil
	}
	var err error
	for try := range 6 {
		if err = o.store(ctx); err == nil || errors.Is(err, errOver) || !sleep(ctx, backOff(try)) {
			break
		}
	}
	return err
}

// store puts the part as it is now; a full one is followed by another.
func (o *output) store(ctx context.Context) error {
	o.storing.Lock()
	defer o.storing.Unlock()
	o.mu.Lock()
	o.compress()
	content := bytes.Clone(o.part.Bytes())
	url, began, same := o.url, o.began, len(content) == o.stored
	o.mu.Unlock()
	if same {
		return nil
	}
	if url == "" {
		g, err := o.api.place(ctx, wanted{o.key, upload{Kind: "log", Began: began.UnixNano()}})
		if err != nil {
			return err
		}
		url = g.URL
	}
	if err := o.api.put(ctx, url, "application/gzip", content); err != nil {
		o.mu.Lock()
		o.url = "" // it may have expired
		o.mu.Unlock()
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.url, o.stored = url, len(content)
	if len(content) >= o.api.partSize() {
		rest := bytes.Clone(o.part.Bytes()[len(content):])
		o.part.Reset()
		o.part.Write(rest)
		o.began, o.stored, o.url = time.Now(), 0, ""
	}
	return nil
}

// masker leaves secrets out of a text that comes in pieces.
type masker struct {
	secrets []string
	replace *strings.Replacer
	held    []byte
}

// shortestMasked: shorter secrets are words and numbers that logs hold anyway.
const shortestMasked = 8

func newMasker(secrets []string) masker {
	var m masker
	for _, s := range secrets {
		if len(s) >= shortestMasked {
			m.secrets = append(m.secrets, s)
		}
	}
	// The longest first: of two at the same place it is the one that leaves nothing over.
	slices.SortFunc(m.secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range m.secrets {
		pairs = append(pairs, s, "****")
	}
	if pairs != nil {
		m.replace = strings.NewReplacer(pairs...)
	}
	return m
}

// pass returns what can be said of the text so far: its end may be the beginning of a secret.
func (m *masker) pass(p []byte) []byte {
	if m.replace == nil {
		return p
	}
	text := m.replace.Replace(string(m.held) + string(p))
	cut := len(text) - m.beginning(text)
	m.held = []byte(text[cut:])
	return []byte(text[:cut])
}

// beginning is how many bytes at the end of text begin a secret.
func (m *masker) beginning(text string) int {
	most := 0
	for _, s := range m.secrets {
		for n := min(len(s)-1, len(text)); n > most; n-- {
			if strings.HasPrefix(s, text[len(text)-n:]) {
				most = n
			}
		}
	}
	return most
}

func (m *masker) rest() []byte {
	held := m.held
	m.held = nil
	return held
}
