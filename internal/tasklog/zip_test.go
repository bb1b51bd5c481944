package tasklog_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"zerodag/internal/tasklog"
)

// TestZips proves that text of any size is read back unchanged, and that concatenated members form one file, which
// Single turns into one member.
func TestZips(t *testing.T) {
	t.Parallel()
	var zips tasklog.Zips
	var file bytes.Buffer
	var want strings.Builder
	for _, size := range []int{0, 1, 1023, 1024, 1 << 20, 5} {
		text := strings.Repeat("a line\n", size/7+1)[:size]
		want.WriteString(text)
		if err := zips.Compress([]byte(text), func(content []byte) error {
			_, err := file.Write(content)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	whole := bytes.Clone(file.Bytes())
	r, err := gzip.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || string(got) != want.String() {
		t.Errorf("%d bytes of %d came back, %v", len(got), want.Len(), err)
	}
	first, err := gzip.NewReader(bytes.NewReader(zips.Single(whole)))
	if err != nil {
		t.Fatal(err)
	}
	first.Multistream(false)
	if got, err := io.ReadAll(first); err != nil || string(got) != want.String() {
		t.Errorf("%d bytes of %d are in the first member, %v", len(got), want.Len(), err)
	}
	for _, broken := range [][]byte{nil, []byte("no gzip"), whole[:len(whole)-3]} {
		if got := zips.Single(broken); !bytes.Equal(got, broken) {
			t.Errorf("%d bytes that are no file became %d", len(broken), len(got))
		}
	}
	if err := zips.Compress([]byte("x"), func([]byte) error { return io.ErrShortWrite }); err != io.ErrShortWrite {
		t.Errorf("the receiver's error became %v", err)
	}
}
