package dynamo

import (
	"bytes"
	"fmt"
	"testing"
)

// TestShortForm proves that short logs are decoded unchanged, and that a hundred of them take up little more space than
// their differences.
func TestShortForm(t *testing.T) {
	t.Parallel()
	var list []shortLog
	size := 0
	for i := range 100 {
		l := shortLog{fmt.Sprintf("+main+t%d@6b01cf2422b%04x.lambda.log.gz", i, i), compress(fmt.Appendf(nil, "2026-11-21 16:44:36.%03d +0000 [INFO] (0001@+main+t%d) EchoOperator: hello\n", i, i))}
		list = append(list, l)
		size += len(l.content)
	}
	list = append(list, shortLog{"no gzip", []byte("x")}, shortLog{"empty", nil})
	packed := packShort(list)
	if len(packed) > size/5 {
		t.Errorf("%d logs of %d bytes take %d bytes together", len(list), size, len(packed))
	}
	got, err := unpackShort(packed)
	if err != nil || len(got) != len(list) {
		t.Fatalf("%d logs, %v", len(got), err)
	}
	for i := range got {
		if got[i].name != list[i].name || !bytes.Equal(got[i].content, list[i].content) {
			t.Errorf("log %d: %q, want %q", i, got[i], list[i])
		}
	}
	if packShort(nil) != nil {
		t.Error("no logs take room")
	}
	whole := joinShort(list[:3])
	for i := range len(whole) - 1 {
		if cut, err := splitShort(whole[:i+1]); err == nil && len(cut) == 3 {
			t.Errorf("a text cut to %d of %d bytes was read", i+1, len(whole))
		}
	}
	for _, at := range []int{0, 1 + 1 + len(list[0].name)} { // the form of the whole, and the form of one log's content
		later := bytes.Clone(whole)
		later[at] = 9
		if _, err := splitShort(later); err == nil {
			t.Errorf("a later form at byte %d was read", at)
		}
	}
}

// BenchmarkShort reads the short logs of an attempt with a thousand tasks.
func BenchmarkShort(b *testing.B) {
	var list []shortLog
	for i := range 1000 {
		text := fmt.Appendf(nil, "2026-11-21 16:44:36.%03d +0000 [INFO] (0001@+main+t%d) EchoOperator: hello\n", i, i)
		list = append(list, shortLog{fmt.Sprintf("+main+t%d@6b01cf2422b%04x.lambda.log.gz", i, i), compress(text)})
	}
	packed := packShort(list)
	for b.Loop() {
		if got, err := unpackShort(packed); err != nil || len(got) != len(list) {
			b.Fatalf("%d logs, %v", len(got), err)
		}
	}
}
