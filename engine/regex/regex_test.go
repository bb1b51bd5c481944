package regex

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestLargeExpressions checks that expressions that would take a lot of memory are refused before they are compiled,
// and that ordinary ones are not.
func TestLargeExpressions(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"repeated":          "(?:" + strings.Repeat("ab.", 300) + "){1000}",
		"nested":            "((a{1,10}){1,10}){1,10}" + strings.Repeat("(b{30}){30}", 12),
		"unicode":           strings.Repeat(`\pL`, 200),
		"folded":            `(?i)` + strings.Repeat(`[\x{100}-\x{10FFFE}]`, 10),
		"folded characters": `(?s-i:a)(?mi:` + strings.Repeat(`[Ā-𐀀]`, 10) + `)`,
		"classes":           strings.Repeat(`(?:[\pL\pN]{100}){10}`, 10),
		"optional":          "((x{0,31}){0,31})" + strings.Repeat("(?:(y?){31}){31}", 10),
		"long":              strings.Repeat("a", MaxText+1),
	} {
		if _, err := Compile(text); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{`^\d{4}-\d{2}-\d{2}$`, `[a-z]{1,1000}`, `^(jp|us|de)_[a-z0-9]{1,64}$`, `(?i)error: .*`, `(?i)^[a-z0-9_-]+$`, `^[\pL\pM\pN .'-]+$`, strings.Repeat(`[\pL\pN]{300}`, 3)} {
		if _, err := Compile(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Compile("a("); err == nil || errors.Is(err, ErrTooLarge) {
		t.Errorf("a mistake in an expression is reported as %v", err)
	}
}

// TestSizes compares the estimate with the size that the compiler produces: the estimate must never be much too small.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"abc", "a|b|c", "(a)(b)", "a{3,5}", "(?:ab.){100}", "(a{1,100}){1,10}b{500}", "x*y+z?", "[a-z]{2,}", "(?:(?:a|b)*c){7}", "^$", "((x{0,9}){0,9}){0,9}", "(?i)straße{20}"} {
		estimate, err := Size(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if real := compiledSize(t, text); estimate*3 < real || real*3+10 < estimate {
			t.Errorf("%s: an estimate of %d instructions, but it has %d", text, estimate, real)
		}
	}
}

func compiledSize(t testing.TB, text string) int {
	t.Helper()
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		t.Fatal(err)
	}
	return len(prog.Inst)
}

// TestCompiledOnce checks that an expression that was compiled is not compiled again, and that the cache stays small.
func TestCompiledOnce(t *testing.T) { //nolint:paralleltest // it looks at the cache
	first, err := Compile("once[0-9]+")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Compile("once[0-9]+"); again != first {
		t.Error("it was compiled twice")
	}
	for i := range 80 {
		if _, err := Compile(fmt.Sprintf("(?:many%d){1000}", i)); err != nil {
			t.Fatal(err)
		}
	}
	if size := compiled().size; size > maxKept {
		t.Errorf("the cache holds %d instructions", size)
	}
}

// TestFits checks that the length of a string is limited by the expression's size.
func TestFits(t *testing.T) {
	t.Parallel()
	small, err := Compile(`^[a-z]+$`)
	if err != nil {
		t.Fatal(err)
	}
	large, err := Compile(`(?:a*b){1000}`)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Repeat("a", 1<<20); !small.Fits(text) || large.Fits(text) {
		t.Error("a megabyte must fit a small expression alone")
	}
}

// FuzzSize checks that an accepted expression has at most three times as many instructions as the limit.
func FuzzSize(f *testing.F) {
	f.Add("(a{1,100}){1,10}b{500}")
	f.Add(`[\pL\pN]{300}|(?i)é*`)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Size(text)
		if err != nil {
			return
		}
		if _, err := regexp.Compile(text); err != nil {
			return
		}
		if real := compiledSize(t, text); real > 3*max(n, 10) {
			t.Errorf("%q: an estimate of %d instructions, but it has %d", text, n, real)
		}
	})
}

// BenchmarkLargest measures the cost of an expression that is as large as allowed.
func BenchmarkLargest(b *testing.B) {
	for name, form := range map[string]string{
		"repeated": "(?:abcdefghi){900}|b%d", "classes": "%d(?i:" + strings.Repeat(`[^\pL]`, 15) + ")", "ranges": "%d(?i:[Ā-𐀀])",
		"long": "%d" + strings.Repeat("[^a-c]", 160),
	} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := Compile(fmt.Sprintf(form, i)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
