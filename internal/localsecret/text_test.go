package localsecret

import "testing"

// TestSecretLine proves that a single line loses only its line end, and that other secrets are unchanged.
func TestSecretLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"secret": "secret", "secret\n": "secret", "secret\r\n": "secret", " secret \n": " secret ", "secret\r": "secret\r",
		"": "", "\n": "", "\n\n": "\n\n", "a\nb": "a\nb", "a\nb\n": "a\nb\n", "a\r\nb\r\n": "a\r\nb\r\n",
	} {
		if got := secretLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
