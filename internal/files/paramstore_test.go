package files_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zerodag/internal/files"
	"zerodag/operators"
)

var _ operators.ParamStore = (*files.ParamStore)(nil)

func TestParamStore(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	s := files.NewParamStore(filepath.Join(t.TempDir(), "params"), func() time.Time { return now })
	odd := strings.Repeat("長い/..\x00", 100)
	values := map[string]string{"a": "1", "A": "2", "": "empty", "../x": "outside", odd: "odd"}
	if err := s.Set(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	want := func(when, key, value string, found bool) {
		t.Helper()
		if v, ok, err := s.Get(t.Context(), key); v != value || ok != found || err != nil {
			t.Errorf("%s, %.10q: got %q, %v, %v", when, key, v, ok, err)
		}
	}
	for key, value := range values {
		want("at once", key, value, true)
	}
	want("at once", "b", "", false)
	now = now.Add(89 * 24 * time.Hour)
	if err := s.Set(t.Context(), map[string]string{"a": "new"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * 24 * time.Hour)
	want("after 91 days", "a", "new", true)
	want("after 91 days", "A", "", false)
}

func TestSetOfNothingWhenCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := files.NewParamStore(t.TempDir(), time.Now)
	if err := s.Set(ctx, map[string]string{"a": "1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, found, _ := s.Get(t.Context(), "a"); found {
		t.Error("a value was stored")
	}
}
