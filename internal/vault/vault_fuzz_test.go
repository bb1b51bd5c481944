package vault

import (
	"strings"
	"testing"

	"zerodag/operators"
)

// logged holds the text that a log received.
type logged struct{ strings.Builder }

func (w *logged) Line(_ operators.Level, _, message string) { w.WriteString(message + "\n") }
func (w *logged) Echo(message string)                       { w.WriteString(message + "\n") }
func (w *logged) Close() error                              { return nil }

// FuzzMask proves that a secret never appears in a log, no matter how the text is split into writes, and that text
// without secrets is written unchanged.
func FuzzMask(f *testing.F) {
	f.Add("a password1 b", "password1", "password1-extended", []byte{3, 1, 200})
	f.Add("aaaaaaaaaaaaaaaa", "aaaaaaaa", "aaaaaaaaa", []byte{1})
	f.Add("abababababababx", "abababab", "babababx", []byte{2, 2, 2})
	f.Add("-----KEY\nline1line1\r\nline2line2\n", "-----KEY\nline1line1\nline2line2\n", "", []byte{7})
	f.Fuzz(func(t *testing.T, text, first, second string, cuts []byte) {
		if strings.Contains(first+second, "*") {
			return // the mask itself may complete such a secret
		}
		v := New(nil)
		v.hide(first)
		v.hide(second)
		var to logged
		log := v.Log(&to)
		for rest, i := text, 0; rest != ""; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			if _, err := log.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		clean := true
		for _, secret := range v.values() {
			clean = clean && !strings.Contains(text, secret)
			if strings.Contains(to.String(), secret) {
				t.Errorf("%q of %q in writes of %v shows %q", to.String(), text, cuts, secret)
			}
		}
		if clean && to.String() != text {
			t.Errorf("%q became %q", text, to.String())
		}
	})
}
