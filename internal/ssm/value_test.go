package ssm

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestValues proves that any key and value come back unchanged, in names and parts that the Parameter Store accepts: it
// refuses "{{...}}" and more than 4,096 bytes.
func TestValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key, value := rapid.StringN(1, 20, 40).Draw(t, "key"), rapid.StringN(0, -1, maxValue-100).Draw(t, "value")
		braces := rapid.SampledFrom([]string{"", "{", "{{", "{{ssm:x}}", "}}", "a{{b", "{\"a\":{\"b\":{}}}"}).Draw(t, "braces")
		at := len(string([]rune(value)[:len([]rune(value))/2]))
		value = value[:at] + braces + value[at:]
		parts, found := split(value), map[string]string{}
		for i, p := range parts {
			if len(p.text) > 4096 || p.text == "" || strings.Contains(p.text, "{{") || strings.Contains(p.text, "}}") {
				t.Fatalf("part %d has %d bytes: %q", i, len(p.text), p.text)
			}
			found[partName(key, i, parts)] = p.text
		}
		all, err := assemble(found)
		if err != nil || len(all) != 1 || all[key] != value {
			t.Fatalf("%d bytes became %d, %v", len(value), len(all[key]), err)
		}
	})
}

// TestForms proves that the stored forms stay readable, and that other values are refused.
func TestForms(t *testing.T) {
	t.Parallel()
	all, err := assemble(map[string]string{"a": "1 {b} x", "c": "2 GEN first", "c/GEN.1": " second"})
	if err != nil || all["a"] != "{b} x" || all["c"] != "first second" {
		t.Errorf("%q, %v", all, err)
	}
	for _, text := range []string{"", "x", "b", "b1", "b1 no base64!", "bb1 eA==", "c1 eA==", "0 a", "-1 a"} {
		if all, err := assemble(map[string]string{"a": text}); err == nil {
			t.Errorf("%q was read as %q", text, all)
		}
	}
}

// FuzzHead proves that no parameter value makes a reader panic.
func FuzzHead(f *testing.F) {
	for _, text := range []string{"1 x", "2 GEN x", "b1 e3t9fQ==", "b2 GEN e3", "b", " "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseHead(text); err == nil && p.count < 1 {
			t.Errorf("%q has %d parts", text, p.count)
		}
		assemble(map[string]string{"a": text})
	})
}
