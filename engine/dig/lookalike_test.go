package dig

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLookAlikes checks that characters that look like YAML's are reported with their line, whether or not the file can
// be read with them.
func TestLookAlikes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+a:\n  echo>：hi\n":                                 "main.dig:2:8: line 2 has a full-width ： in the key `echo>`",
		"+a：\n  echo>: hi\n":                                "main.dig:1:3: line 1 has a full-width ： in the key `+a`",
		"+a:\n  echo＞: hi\n":                                "main.dig:2:7: line 2 has a full-width ＞ in the key `echo`",
		"＋a:\n  echo>: hi\n":                                "main.dig:1:1: line 1 has a full-width ＋ at the start of a key",
		"+a:\n　echo>: hi\n":                                 "main.dig:2:1: line 2 has a full-width space (U+3000) in its indentation",
		"+a:\n  　echo>: hi\n":                               "main.dig:2:3: line 2 has a full-width space (U+3000) in its indentation",
		"+a:\n\u00a0\u00a0echo>: hi\n":                      "main.dig:2:1: line 2 has a no-break space (U+00A0) in its indentation",
		"+a:\n  echo>:\u00a0hi\n":                           "main.dig:2:9: line 2 has a no-break space (U+00A0) after the colon of a key",
		"+a:\n  echo>:　hi\n":                                "main.dig:2:9: line 2 has a full-width space (U+3000) after the colon of a key",
		"　# comment\n+a:\n  echo>: hi\n":                    "main.dig:1:1: line 1 has a full-width space (U+3000) in its indentation",
		"＃ comment\n+a:\n  echo>: hi\n":                     "main.dig:1:1: line 1 has a full-width ＃ at the start of a comment",
		"+a:\n  for_each>: {x: [1，2]}\n  _do: {echo>: x}\n": "main.dig:2:20: line 2 has a full-width ， within brackets",
		"_export:\n  list:\n    － one\n+a:\n  echo>: hi\n":  "main.dig:3:5: line 3 has a full-width － at the start of a list item",
		"“timezone”: UTC\n+a:\n  echo>: hi\n":               "main.dig:1:1: line 1 has a typographic quote (“) at the start of a key",
	} {
		read := mapSource(map[string]string{"main.dig": text})
		_, err := Load(read, []string{"main.dig"})
		got := ""
		if err != nil {
			got = err.Error()
		} else if list := Inspect(read, "main.dig").Doubts; len(list) > 0 {
			got = list.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestLookAlikesWarned checks the warnings about look-alikes that are taken as part of text.
func TestLookAlikesWarned(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+a:\n  echo>: hi　# say it\n": "main.dig:2:12: line 2 has a full-width space (U+3000) before a comment",
		"+a:\n  echo>: “hi”\n":        "main.dig:2:10: line 2 has a typographic quote (“) around a value",
		"+a:\n  echo>: ‘hi’\n":        "main.dig:2:10: line 2 has a typographic quote (‘) around a value",
		"+a:\n  echo>: hi ＃ say it\n": "main.dig:2:12: line 2 has a full-width ＃ before a comment",
		// all valid
		"# 注意：＋＞　“x”\n+a:\n  echo>: 注意：これ　は “引用” です\n":        "",
		"+a:\n  sh>: |\n    echo “hi”　# x\n    ＋a：b\n\n  　\n": "",
		"+a:\n  echo>: \"hi　# x\"\n":              "",
		"+a:\n  echo>: don’t\n":                   "",
		"_export:\n  名前: 値：１\n+a:\n  echo>: hi\n": "",
		"+a:\n  echo>: >-\n    “x”\n    ：\n":      "",
	} {
		read := mapSource(map[string]string{"main.dig": text})
		if _, err := Load(read, []string{"main.dig"}); err != nil {
			if want != "" || !strings.Contains(text, "  　") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		list := Inspect(read, "main.dig").Doubts
		if got := list.Error(); want == "" && len(list) > 0 || !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// FuzzLookAlikes checks that no text crashes the search, and that every place it returns is in the text.
func FuzzLookAlikes(f *testing.F) {
	for _, seed := range []string{"+a：\n　b: “x”\n", "- ：\n", "a: [1，2]", "a: |\n  x\n：", "\u00a0", "a:\u3000", "\xff：", "a: '，'"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		for _, e := range lookAlikes("f", []byte(text)) {
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > utf8.RuneCountInString(lines[e.Line-1]) {
				t.Errorf("%q: %+v", text, e)
			}
		}
	})
}
