package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// elsewhere maps the pages of the site that are not in docs/ to their files, as docs/site/hooks.py places them.
var elsewhere = map[string]string{"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}

// TestNav proves that the site's list of pages has every page once, and no page that does not exist.
func TestNav(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		text = withOperators(t, text)
		if err := os.WriteFile(root+"/mkdocs.yml", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var site struct{ Nav yaml.Node }
	if err := yaml.Unmarshal(text, &site); err != nil {
		t.Fatal(err)
	}
	listed, want := navPages(&site.Nav), sitePages(t)
	if len(want) < 80 {
		t.Fatalf("only %d pages were found", len(want))
	}
	for _, page := range want {
		if !slices.Contains(listed, page) {
			t.Errorf("nav of mkdocs.yml has not %s", page)
		}
	}
	slices.Sort(listed)
	for i, page := range listed {
		if !slices.Contains(want, page) {
			t.Errorf("nav of mkdocs.yml has %s, and there is no such page", page)
		}
		if i > 0 && page == listed[i-1] {
			t.Errorf("nav of mkdocs.yml has %s twice", page)
		}
	}
}

// withOperators returns mkdocs.yml with the pages of all operators in its nav, in alphabetical order.
func withOperators(t *testing.T, text []byte) []byte {
	t.Helper()
	list := regexp.MustCompile(`(?m)(^ +- )operators/.*\n(?: +- operators/.*\n)*`)
	place := list.FindSubmatchIndex(text)
	if place == nil {
		t.Fatal("mkdocs.yml lists no page of an operator")
	}
	indent := string(text[place[2]:place[3]])
	var lines strings.Builder
	for _, page := range sitePages(t) {
		if strings.HasPrefix(page, "operators/") {
			lines.WriteString(indent + page + "\n")
		}
	}
	return slices.Concat(text[:place[0]], []byte(lines.String()), text[place[1]:])
}

// navPages returns the pages below a node of the nav; the keys of its mappings are titles.
func navPages(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var list []string
	for i, below := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 1 {
			list = append(list, navPages(below)...)
		}
	}
	return list
}

// sitePages returns all pages of the site.
func sitePages(t *testing.T) []string {
	t.Helper()
	var list []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".md") {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	operators, err := filepath.Glob(root + "/operators/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range operators {
		list = append(list, "operators/"+path.Base(path.Dir(filepath.ToSlash(page)))+".md")
	}
	for place, source := range elsewhere {
		if !exists(source) {
			t.Errorf("there is no %s", source)
		}
		list = append(list, place)
	}
	return list
}
