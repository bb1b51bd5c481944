package dig

import (
	"bytes"
	"gopkg.in/yaml.v3"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// textKeys lists keys with one-line values in which a # is rarely a comment.
var textKeys = []string{"echo>", "fail>", "sh>", "ssh>", "slack>", "notify>", "subject"}

// cut records text that a comment cuts off: a # after one space, directly followed by text, as in `order #5`.
func (r *reader) cut(key string, n *yaml.Node) {
	if !slices.Contains(textKeys, key) || n.Kind != yaml.ScalarNode || n.Style != 0 || n.Value == "" {
		return
	}
	comment, isCut := bytes.CutPrefix(r.rest(n), []byte(n.Value+" #"))
	if isCut && len(comment) > 0 && !strings.ContainsRune(" \t#!-", rune(comment[0])) {
		r.noteDoubt(n, "quote the whole text if the # belongs to it, or write a space after the # of a comment", "the value ends before the #, which begins a comment in YAML: %s", param.Sample(n.Value))
	}
}

// joined records a key of {...} that contains its value, as in {a:1}: in YAML a colon ends a key only before a space.
func (r *reader) joined(key, value *yaml.Node) {
	name, rest, isJoined := strings.Cut(key.Value, ":")
	if isJoined && name != "" && rest != "" && key.Style == 0 && value.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == "" && !strings.HasPrefix(rest, "/") {
		r.noteDoubt(key, "write a space after the colon, as in {"+name+": "+rest+"}", "%s is a key without a value: the space after the colon is missing", key.Value)
	}
}

// folded records a script of several lines that YAML joins into one, because nothing marks it as a block, or > does.
func (r *reader) folded(key string, n *yaml.Node) {
	if key != "sh>" || n.Kind != yaml.ScalarNode || n.Anchor != "" || !strings.Contains(n.Value, " ") {
		return
	}
	lines := r.block(n)
	switch {
	case n.Style == 0 && !bytes.HasPrefix(r.rest(n), []byte(n.Value)):
		lines = append([]string{strings.TrimRight(string(r.rest(n)), "\r")}, lines...)
	case n.Style != yaml.FoldedStyle:
		return
	}
	if joinsCommands(lines) {
		r.noteDoubt(n, "write `sh>: |` and the lines below it; a \\ at the end of a line joins it with the next one", "YAML joins the lines of this script into one: %s", param.Sample(n.Value))
	}
}

// block returns the text of a multi-line node, up to the first line that is indented less than the node's first line.
func (r *reader) block(n *yaml.Node) (lines []string) {
	r.rest(n) // this splits the text
	indent := 0
	for _, line := range r.lines[min(n.Line, len(r.lines)):] {
		text := strings.TrimRight(string(line), "\r")
		if strings.TrimSpace(text) == "" {
			lines = append(lines, "")
			continue
		}
		if indent == 0 {
			indent = indentOf(text)
		}
		if indent == 0 || indentOf(text) < indent {
			break
		}
		lines = append(lines, text[indent:])
	}
	return lines
}

// joinsCommands reports whether lines that YAML joins are probably several commands, because one of them begins like a
// command. YAML keeps the line breaks of empty lines and of lines that are indented further.
func joinsCommands(lines []string) bool {
	for i := 1; i < len(lines); i++ {
		above, line := strings.TrimSpace(lines[i-1]), lines[i]
		if above == "" || line == "" || line[0] == ' ' || lines[i-1][0] == ' ' {
			continue
		}
		if !goesOn().MatchString(above) && !isContinued().MatchString(line) && beginsCommand(lines[0], line) {
			return true
		}
	}
	return false
}

// commands lists programs and shell keywords that script lines often begin with.
var commands = sync.OnceValue(func() []string {
	return strings.Fields(`. [ awk aws bash basename bq bundle bunzip2 bzip2 cargo cat cd chmod chown cp curl cut dbt declare df diff digdag docker du echo embulk env
	eval exec exit export find fi for ftp function gcloud gem git grep gsutil gunzip gzip head hostname if java jq kill kubectl ln ls make mkdir mktemp mv mysql node npm npx
	perl php ping pip pip3 poetry printf psql pushd python python2 python3 pwd return rm rmdir rsync ruby scp sed set sftp sh shift sleep source sqlite3 ssh sudo tail tar td tee
	terraform touch tr trap uniq unset unzip until uv wc wget while xargs yarn zerodag zip zsh`)
})

// beginsCommand reports whether a line begins like a command, rather than with another argument of the line above.
func beginsCommand(first, line string) bool {
	word, _, _ := strings.Cut(line, " ")
	program, _, _ := strings.Cut(first, " ")
	name, _, assigns := strings.Cut(word, "=")
	if slices.Contains([]string{"set", "cd", "export", ".", "source"}, program) || strings.HasPrefix(line, "test -") {
		return true
	}
	return slices.Contains(commands(), word) || strings.HasPrefix(word, "./") && strings.HasSuffix(word, ".sh") || word == program || assigns && keys.EnvName().MatchString(name) && strings.ToUpper(name) == name
}

// goesOn and isContinued match ends and beginnings of lines that continue one command.
var (
	goesOn      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\\|\||&&|;|\(|\{|,|=|\b(then|do|else))$`) })
	isContinued = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([-|&;<>)}"'$]|\d?>)`) })
)
