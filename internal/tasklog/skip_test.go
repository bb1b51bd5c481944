package tasklog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// membered returns a file with the given strings as its members.
func membered(t testing.TB, texts ...string) (file []byte, all string) {
	t.Helper()
	var z Zips
	for _, text := range texts {
		if err := z.Compress([]byte(text), func(content []byte) error { file = append(file, content...); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return file, strings.Join(texts, "")
}

func lines(n int, line string) string { return strings.Repeat(line+"\n", n) }

// TestAfter proves that the text after any position is the same as without skipping, whatever members the file has, and
// that other programs can read the whole file.
func TestAfter(t *testing.T) {
	t.Parallel()
	file, all := membered(t, "a short line\n", lines(9000, "a long text"), lines(3, "short"), lines(9000, "another one"), "the end\n")
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := io.ReadAll(z); err != nil || string(whole) != all {
		t.Fatalf("gzip reads %d bytes, %v", len(whole), err)
	}
	places := []int{0, 1, 12, 13, 14, 15, 5000, len(all) - 9, len(all) - 8, len(all) - 7, len(all) - 1, len(all)}
	for at := 0; at < len(all); at += 1013 {
		places = append(places, at)
	}
	for _, at := range places {
		in, err := After(bytes.NewReader(file), int64(at))
		if err != nil {
			t.Fatal(at, err)
		}
		if text, err := io.ReadAll(in); err != nil || string(text) != all[at:] {
			t.Errorf("after %d: %d bytes instead of %d, %v", at, len(text), len(all)-at, err)
		}
	}
	if _, err := After(bytes.NewReader(file), int64(len(all)+1)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("behind the end: %v", err)
	}
	for cut := range file { // as while it is being written
		in, err := After(bytes.NewReader(file[:cut]), 13)
		if err != nil {
			continue
		}
		if text, _ := io.ReadAll(in); !strings.HasPrefix(all[13:], string(text)) {
			t.Fatalf("of the first %d bytes it read something else", cut)
		}
	}
}

// BenchmarkAfter compares reading the end of a 100 MB log with unpacking all of it.
func BenchmarkAfter(b *testing.B) {
	var texts []string
	for range 100 {
		texts = append(texts, lines(1<<16, "a line of text."))
	}
	file, all := membered(b, texts...)
	b.Run("skipped", func(b *testing.B) {
		for b.Loop() {
			if in, err := After(bytes.NewReader(file), int64(len(all)-10)); err != nil {
				b.Fatal(err)
			} else if text, _ := io.ReadAll(in); len(text) != 10 {
				b.Fatal(len(text))
			}
		}
	})
	b.Run("unpacked", func(b *testing.B) {
		for b.Loop() {
			z, err := gzip.NewReader(bytes.NewReader(file))
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, z); err != nil || n != int64(len(all)) {
				b.Fatal(n, err)
			}
		}
	})
}

// FuzzAfter proves that a damaged file causes an error, and never a panic or an endless loop.
func FuzzAfter(f *testing.F) {
	file, _ := membered(f, "a short line\n", lines(9000, "a long text"))
	f.Add(file, int64(20))
	f.Add(file, int64(200_000))
	f.Fuzz(func(_ *testing.T, file []byte, after int64) {
		if in, err := After(bytes.NewReader(file), max(after, 0)); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(in, 1<<20))
		}
	})
}
