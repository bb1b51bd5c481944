package ssm

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"zerodag/internal/border"
)

// Options holds the settings of Secrets.
type Options struct {
	Prefix string           // "/zerodag/prod": begins with a slash and ends without one
	KeyID  string           // of KMS; "" means the account's default key
	Now    func() time.Time // time.Now when nil
}

// Secrets is a host.Secrets.
type Secrets struct {
	Options
	client *ssm.Client

	mu   sync.Mutex
	kept map[string]*kept // by path
}

// kept holds the secrets of a project as they were read. Its lock is held during a read, so that a thousand tasks cause
// one read.
type kept struct {
	mu     sync.Mutex
	until  time.Time
	values map[string]string
}

// keep is how long values are cached.
const keep = time.Minute

// tries is how many times a call is tried: SSM serves 40 reads per second for an entire account, so many functions that
// start together must wait for one another, for about ten seconds.
const tries = 12

// betweenPages is the longest pause between two pages of a project's secrets: many processes that read them
// concurrently must not request all pages at once.
const betweenPages = 200 * time.Millisecond

// maxValue is the maximum size of a secret in bytes.
const maxValue = 16 << 10

// New returns Secrets.
func New(c aws.Config, o Options) *Secrets {
	if o.Now == nil {
		o.Now = time.Now
	}
	client := ssm.NewFromConfig(border.Answered(c), func(s *ssm.Options) { s.Retryer = border.Retryer(tries, updates) })
	return &Secrets{Options: o, client: client, kept: map[string]*kept{}}
}

// PutSecret stores a secret, encrypted.
func (s *Secrets) PutSecret(ctx context.Context, site, project int64, key, value string) error {
	if len(value) > maxValue {
		return fmt.Errorf("store secret %s: it is %d bytes, but at most %d are allowed", key, len(value), maxValue)
	}
	path := s.path(site, project)
	old, err := s.parts(ctx, path, key)
	if err != nil {
		return err
	}
	parts := split(value)
	// The first parameter is written last: it names the others that belong to it.
	for i := len(parts) - 1; i >= 0; i-- {
		in := &ssm.PutParameterInput{Name: aws.String(path + partName(key, i, parts)), Value: &parts[i].text, Type: types.ParameterTypeSecureString, Overwrite: aws.Bool(true)}
		if s.KeyID != "" {
			in.KeyId = &s.KeyID
		}
		if _, err := s.client.PutParameter(ctx, in); err != nil {
			return translate("store secret "+key, err)
		}
	}
	defer s.forget(path)
	return s.deleteAll(ctx, path, old)
}

// parts returns the further parameters that a secret currently has.
func (s *Secrets) parts(ctx context.Context, path, key string) ([]string, error) {
	head, err := s.client.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(path + escape(key)), WithDecryption: aws.Bool(true)})
	if border.Code(err) == "ParameterNotFound" {
		return nil, nil
	}
	if err != nil {
		return nil, translate("read secret "+key, err)
	}
	first, err := parseHead(*head.Parameter.Value)
	if err != nil {
		return nil, fmt.Errorf("read secret %s: %w", key, err)
	}
	var names []string
	for i := 1; i < first.count; i++ {
		names = append(names, escape(key)+"/"+first.generation+"."+strconv.Itoa(i))
	}
	return names, nil
}

// maxDelete is how many parameters are deleted together.
const maxDelete = 10

func (s *Secrets) deleteAll(ctx context.Context, path string, names []string) error {
	for part := range slices.Chunk(names, maxDelete) {
		var full []string
		for _, name := range part {
			full = append(full, path+name)
		}
		if _, err := s.client.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: full}); err != nil {
			return translate("delete secrets", err)
		}
	}
	return nil
}

// DeleteSecret deletes a secret, if there is one.
func (s *Secrets) DeleteSecret(ctx context.Context, site, project int64, key string) error {
	path := s.path(site, project)
	names, err := s.parts(ctx, path, key)
	if err != nil {
		return err
	}
	defer s.forget(path)
	return s.deleteAll(ctx, path, append([]string{escape(key)}, names...))
}

// SecretKeys lists the keys in order.
func (s *Secrets) SecretKeys(ctx context.Context, site, project int64) ([]string, error) {
	found, err := s.read(ctx, s.path(site, project), false)
	if err != nil {
		return nil, err
	}
	var keys []string
	for name := range found {
		if key, ok := unescape(name); ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// ProjectSecrets returns all secrets of a project by key; they may be up to a minute old.
func (s *Secrets) ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error) {
	path := s.path(site, project)
	s.mu.Lock()
	k := s.kept[path]
	if k == nil {
		k = &kept{}
		s.kept[path] = k
	}
	s.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil || !s.Now().Before(k.until) {
		var err error
		for range 2 { // a secret may change between two pages
			var found map[string]string
			if found, err = s.read(ctx, path, true); err != nil {
				return nil, err
			}
			if k.values, err = assemble(found); err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read secrets of project %d: %w", project, err)
		}
		k.until = s.Now().Add(keep)
	}
	return maps.Clone(k.values), nil
}

// forget makes this process read a project's secrets again.
func (s *Secrets) forget(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, path)
}

// read returns the parameters below a path, keyed by the rest of their names.
func (s *Secrets) read(ctx context.Context, path string, decrypt bool) (map[string]string, error) {
	found := map[string]string{}
	for p := ssm.NewGetParametersByPathPaginator(s.client, &ssm.GetParametersByPathInput{Path: aws.String(path[:len(path)-1]), Recursive: aws.Bool(decrypt),
		WithDecryption: aws.Bool(decrypt), MaxResults: aws.Int32(10)}); p.HasMorePages(); {
		if len(found) > 0 {
			if err := pause(ctx); err != nil {
				return nil, err
			}
		}
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, translate("read secrets", err)
		}
		for _, x := range page.Parameters {
			found[(*x.Name)[len(path):]] = aws.ToString(x.Value)
		}
	}
	return found, nil
}

// pause waits a random time.
func pause(ctx context.Context) error {
	timer := time.NewTimer(rand.N(betweenPages)) // #nosec G404 -- the random number spreads calls; an attacker gains nothing by guessing it
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Secrets) path(site, project int64) string {
	return fmt.Sprintf("%s/%d/%d/", s.Prefix, site, project)
}

// updates is the error code of a put that collided with another put of the same parameter.
const updates = "TooManyUpdates"

func translate(doing string, err error) error { return border.Translate(doing, err, updates) }
