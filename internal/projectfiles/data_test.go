package projectfiles

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestServerDataIsNeverPacked proves that server data is never packed, wherever it is in a project and whatever its
// folder is called, even if a link leads to it.
func TestServerDataIsNeverPacked(t *testing.T) {
	t.Parallel()
	elsewhere := folderOf(t, map[string]string{"zerodag.db": "x", "secret.key": "k", "blobs/1": "b"})
	around := folderOf(t, map[string]string{"one": "1", "deep/state/zerodag.db": "x", "deep/state/secret.key": "k"})
	p := folderOf(t, map[string]string{
		"a.dig": "", "zerodag-data/zerodag.db": "x", "zerodag-data/secret.key": "k", "zerodag-data/blobs/1": "b",
		"sub/renamed/Zerodag.DB": "x", "sub/renamed/Secret.Key": "k", "sub/own/secret.key": "mine",
		"inner": "-> zerodag-data", "outer": "-> " + elsewhere.Root(), "key": "-> " + elsewhere.Root() + "/secret.key", "around": "-> " + around.Root(),
	})
	var b bytes.Buffer
	var left []string
	_, err := p.Pack(&b, Packing{CopyOutgoing: true, LeftOut: func(name string) { left = append(left, name) }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.dig", "around/one", "sub/own/secret.key"}, listed(t, b.Bytes())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sub/renamed", "zerodag-data", "around/deep/state", "inner", "key", "outer"}, left); diff != "" {
		t.Error(diff)
	}
	if _, err := elsewhere.Pack(io.Discard, Packing{}); err == nil || !strings.Contains(err.Error(), "holds the data of a server") || !strings.Contains(err.Error(), "--database DIR") {
		t.Errorf("a project that is data: %v", err)
	}
}

// TestServerDataIsRefused proves that an archive created elsewhere is refused if it contains server data.
func TestServerDataIsRefused(t *testing.T) {
	t.Parallel()
	for name, archive := range map[string][]byte{
		"x/data":  tarball(t, file("a.dig", "+a: {echo>: x}"), file("x/data/secret.key", "k"), file("x/data/zerodag.db", "x")),
		"renamed": tarball(t, file("renamed/blobs/1", "b"), file("renamed/SECRET.KEY", "k")),
		".":       tarball(t, file("zerodag.db", "x"), file("a.dig", "+a: {echo>: x}"), file("secret.key", "k")),
	} {
		err := Inspect(context.Background(), bytes.NewReader(archive), Limits{})
		if err == nil || !strings.Contains(err.Error(), "the data of a server (its database and the key of its secrets) in "+name+":") {
			t.Errorf("%s: error %v", name, err)
		}
		if got := ServerData(context.Background(), bytes.NewReader(archive), Limits{}); !cmp.Equal(got, []string{name}) {
			t.Errorf("%s: found %v", name, got)
		}
	}
	if err := Inspect(context.Background(), bytes.NewReader(tarball(t, file("keys/secret.key", "mine"))), Limits{}); err != nil {
		t.Errorf("a project with a key of its own: %v", err)
	}
}
