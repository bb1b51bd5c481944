//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// How much text is collected before it is compressed, how large a part may become, and how often new text is sent:
// viewers see it within two seconds.
const (
	gathered  = 64 << 10
	partSize  = 1 << 20
	flushTime = time.Second
)

// output is one command's log: its output, without secrets, in parts that are objects. A growing part is stored
// repeatedly; parts that cannot be stored wait on disk.
type output struct {
	api     *api
	key     string
	spool   string // prefix of the files of waiting parts; "" for none
	mask    masker
	limit   int64
	exceed  func() // called once when the limit is exceeded
	refused func() // called when the command reports that it cannot start a process

	mu    sync.Mutex
	text  []byte
	parts []*part // in order; the last one grows
	total int64
	short []byte // the whole log, if it is sent with the result

	storing sync.Mutex
}

// part is a part of a log.
type part struct {
	content bytes.Buffer
	began   time.Time
	url     string
	stored  int    // bytes
	file    string // where its content is instead; it grows no further
	size    int    // of the file
}

func newOutput(r *runner, o order) *output {
	first := &part{url: o.Log}
	if o.Log != "" {
		first.began = time.Unix(0, o.Began)
	}
	out := &output{api: r.api, key: o.Key, mask: newMasker(o.Mask), limit: o.Spec.Limits.Output, parts: []*part{first}}
	if r.api.places == nil {
		out.spool = filepath.Join(r.work, "log-"+o.Key)
	}
	return out
}

// last returns the growing part.
func (o *output) last() *part { return o.parts[len(o.parts)-1] }

// Write accepts output as it arrives. It never fails: a command must not block on its log.
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
	if o.last().began.IsZero() {
		o.last().began = time.Now()
	}
	if o.text = append(o.text, p...); len(o.text) >= gathered {
		o.compress()
	}
}

// compress adds the text to the last part. A part that grows large because it could not be stored goes to disk, so that
// a log takes no memory while the API is unavailable.
func (o *output) compress() {
	if len(o.text) == 0 {
		return
	}
	p := o.last()
	w := gzip.NewWriter(&p.content) // to memory: no errors
	w.Write(o.text)
	w.Close()
	o.text = o.text[:0]
	if o.spool == "" || p.content.Len() < 2*partSize {
		return
	}
	file := o.spool + "-" + strconv.FormatInt(p.began.UnixNano(), 10)
	if err := os.WriteFile(file, p.content.Bytes(), 0o600); err != nil {
		os.Remove(file)
		return // it stays in memory
	}
	p.file, p.size, p.content = file, p.content.Len(), bytes.Buffer{}
	o.parts = append(o.parts, &part{began: time.Now()})
}

// follow sends new text until ctx ends.
func (o *output) follow(ctx context.Context) {
	for sleep(ctx, flushTime) {
		if err := o.store(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "runner: log of command %s: %v\n", o.key, err)
		}
	}
}

// close sends the rest, unless that is refused permanently.
func (o *output) close(ctx context.Context) error {
	defer o.discard()
	o.mu.Lock()
	o.add(o.mask.rest())
	o.mu.Unlock()
	if o.api.places != nil && o.keepShort() {
		return nil
	}
	return o.api.deliver(ctx, func() error { return o.store(ctx) })
}

// complete adds the log to a result: text to send with it, or why its end could not be stored.
func (o *output) complete(ctx context.Context, res result) result {
	if err := o.close(ctx); err != nil && !errors.Is(err, errOver) {
		fmt.Fprintf(os.Stderr, "runner: the end of the log of command %s could not be stored: %v\n", o.key, err)
		res.LogLost = err.Error()
	}
	res.Log = o.short
	return res
}

// discard removes undelivered parts.
func (o *output) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.parts {
		if p.file != "" {
			os.Remove(p.file)
		}
	}
}

// store uploads the current parts, in order; a full one is followed by another.
func (o *output) store(ctx context.Context) error {
	o.storing.Lock()
	defer o.storing.Unlock()
	for {
		o.mu.Lock()
		o.compress()
		p := o.parts[0]
		content, err := p.now()
		url, began, same := p.url, p.began, len(content) == p.stored
		o.mu.Unlock()
		if err != nil {
			return err
		}
		if !same {
			if err := o.put(ctx, p, url, began, content); err != nil {
				return err
			}
		}
		if !o.next(p) {
			return nil
		}
	}
}

// now returns the current content of a part; the lock of its log is held.
func (p *part) now() ([]byte, error) {
	if p.file != "" {
		return os.ReadFile(p.file)
	}
	return bytes.Clone(p.content.Bytes()), nil
}

// put stores content as a part.
func (o *output) put(ctx context.Context, p *part, url string, began time.Time, content []byte) error {
	if url == "" {
		g, err := o.api.place(ctx, wanted{o.key, upload{Kind: "log", Began: began.UnixNano()}})
		if err != nil {
			return err
		}
		url = g.URL
	}
	err := o.api.put(ctx, url, "application/gzip", content)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		p.url = "" // it may have expired
		return err
	}
	p.url, p.stored = url, len(content)
	return nil
}

// next advances to the next part if there is one, or if the part just stored has reached the maximum size.
func (o *output) next(p *part) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case p.file != "" && p.stored == p.size:
		os.Remove(p.file)
		o.parts = o.parts[1:]
		return true
	case p.file != "": // it grew before it went to disk
		return true
	case p.stored > 0 && p.stored >= o.api.partSize():
		after := &part{began: time.Now()}
		after.content.Write(p.content.Bytes()[p.stored:])
		o.parts = []*part{after}
	}
	return false
}

// masker removes secrets from text that arrives in pieces.
type masker struct {
	secrets []string
	replace *strings.Replacer
	held    []byte
}

// shortestMasked is the minimum length of masked secrets: shorter ones are words and numbers that logs contain anyway.
const shortestMasked = 8

func newMasker(secrets []string) masker {
	var m masker
	for _, s := range secrets {
		if len(s) >= shortestMasked {
			m.secrets = append(m.secrets, s)
		}
	}
	// Longest first: of two at the same place, the longer one leaves no remainder.
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

// pass returns the text that is safe to send so far: its end may be the beginning of a secret.
func (m *masker) pass(p []byte) []byte {
	if m.replace == nil {
		return p
	}
	text := m.replace.Replace(string(m.held) + string(p))
	cut := len(text) - m.beginning(text)
	m.held = []byte(text[cut:])
	return []byte(text[:cut])
}

// beginning returns how many bytes at the end of text begin a secret.
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
