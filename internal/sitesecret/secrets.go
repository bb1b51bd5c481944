package sitesecret

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zerodag/internal/host"
)

// Site is the project id under which a site's secrets are stored; no project has this id.
const Site = 0

// Most is the maximum size of a value and its list of projects in bytes. With a line break between them, they are stored
// as one secret, for which 16 KiB is the limit.
const Most = 16<<10 - 1

// encode returns the stored form of a value: the list of projects in JSON, or nothing for all projects, a line break,
// and the value.
func encode(projects []string, value string) (string, error) {
	if len(projects) == 0 {
		return "\n" + value, nil
	}
	list, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(projects))))
	if err != nil {
		return "", fmt.Errorf("encode the projects of a secret: %w", err)
	}
	return string(list) + "\n" + value, nil
}

// decode returns the parts of a stored value. Only an unreadable list is an error: no project can use such a secret.
func decode(key, text string) (host.SiteSecret, string, error) {
	s := host.SiteSecret{Key: key}
	list, value, found := strings.Cut(text, "\n")
	if found && list == "" {
		return s, value, nil
	}
	if err := json.Unmarshal([]byte(list), &s.Projects); err != nil || !found {
		return s, "", fmt.Errorf("read secret %s of the site: its list of projects is unreadable: set the secret again", key)
	}
	return s, value, nil
}

// Put sets a secret of a site, or replaces it together with its list of projects.
func Put(ctx context.Context, store host.Secrets, site int64, s host.SiteSecret, value string) error {
	text, err := encode(s.Projects, value)
	if err != nil {
		return err
	}
	if len(text)-1 > Most {
		return host.Invalidf("Invalid secret: the value and the names of the projects are %d bytes, but at most %d are allowed", len(text)-1, Most)
	}
	return store.PutSecret(ctx, site, Site, s.Key, text)
}

// Delete removes a secret of a site; a missing secret is not an error.
func Delete(ctx context.Context, store host.Secrets, site int64, key string) error {
	return store.DeleteSecret(ctx, site, Site, key)
}

// List lists the secrets of a site, sorted by key.
func List(ctx context.Context, store host.Secrets, site int64) ([]host.SiteSecret, error) {
	stored, err := store.ProjectSecrets(ctx, site, Site)
	if err != nil {
		return nil, err
	}
	list := []host.SiteSecret{}
	for key, text := range stored {
		s, _, err := decode(key, text)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b host.SiteSecret) int { return cmp.Compare(a.Key, b.Key) })
	return list, nil
}

// Projects finds projects by id, including deleted ones.
type Projects interface {
	Project(ctx context.Context, site, id int64) (host.Project, error)
}

// Secrets is a host.Secrets whose ProjectSecrets also returns the site's secrets that a project may use. A secret of
// the project itself takes precedence over a site's secret with the same key.
type Secrets struct {
	host.Secrets
	Projects Projects
}

// ProjectSecrets returns all secrets that a project's tasks may use, by key.
func (s Secrets) ProjectSecrets(ctx context.Context, site, project int64) (map[string]string, error) {
	usable, _, err := s.All(ctx, site, project)
	return usable, err
}

// All returns all secrets that a project's tasks may use, by key, and the values of all other secrets of the site: values
// that tasks stored may contain a secret that their project may no longer use.
func (s Secrets) All(ctx context.Context, site, project int64) (usable map[string]string, others []string, err error) {
	own, err := s.Secrets.ProjectSecrets(ctx, site, project)
	if err != nil || project == Site {
		return own, nil, err
	}
	stored, err := s.Secrets.ProjectSecrets(ctx, site, Site)
	if err != nil || len(stored) == 0 {
		return own, nil, err
	}
	name := ""
	usable = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		shared, value, err := decode(key, stored[key])
		if err != nil {
			return nil, nil, err
		}
		if len(shared.Projects) > 0 && name == "" {
			if name, err = s.nameOf(ctx, site, project); err != nil {
				return nil, nil, err
			}
		}
		if _, hidden := own[key]; hidden || !shared.Serves(name) {
			others = append(others, value)
		} else {
			usable[key] = value
		}
	}
	maps.Copy(usable, own)
	return usable, others, nil
}

// nameOf returns the name of a project. A deleted project keeps its name, as its running attempts keep its secrets.
func (s Secrets) nameOf(ctx context.Context, site, id int64) (string, error) {
	p, err := s.Projects.Project(ctx, site, id)
	if errors.Is(err, host.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the project of secrets: %w", err)
	}
	return p.Name, nil
}
