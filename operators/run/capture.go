package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/operators"
)

// captures are the values that a task in a file with `zerodag: 1` takes from its command: values that the command
// writes into the file $ZERODAG_STORE, values that `_store` takes from its output and files, and the line that
// `_ignore_error` matches. A shell around the command stores them in its scratch folder, so that this works the same
// wherever commands run.
type captures struct {
	stored  []keys.Stored
	output  *param.Pattern // for a line, from `_ignore_error`; nil for none
	ran     bool
	code    int
	outputs map[string][]byte // left by the command
}

// Files in the scratch folder of a command.
const (
	captureFile = "capture.sh"
	storeFile   = "store"
)

// maxCaptured is how much of a command's output is examined, in bytes from its end. maxStored is how many bytes the
// command may store.
const (
	maxCaptured = 1 << 20
	maxStored   = 64 << 10
)

// capturesOf reads a task's captures; nil for a file without `zerodag: 1`.
func (j *Job) capturesOf() (*captures, error) {
	if j.Level == 0 {
		return nil, nil
	}
	c := &captures{}
	if v, there := j.Own.Get("_store"); there {
		var err error
		if c.stored, err = keys.ParseStore(v); err != nil {
			return nil, err
		}
	}
	line, _ := j.Own.Map("_ignore_error").Get("output")
	if text, _ := line.(string); text != "" {
		pattern, err := param.ParsePattern(text)
		if err != nil {
			return nil, param.Errorf("output of _ignore_error is not a valid regular expression: %v", err)
		}
		c.output = &pattern
	}
	return c, nil
}

// prints reports whether the command's output is examined.
func (c *captures) prints() bool {
	return c.output != nil || slices.ContainsFunc(c.stored, func(s keys.Stored) bool { return s.From != "file" })
}

// around wraps a command in the shell.
func (c *captures) around(x operators.Command) operators.Command {
	x.Args = append([]string{"/bin/sh", x.ScratchFile(captureFile), x.ScratchFile("")}, x.Args...)
	x.Files = withFile(x.Files, captureFile, []byte(c.text()))
	x.Outputs = append(slices.Clone(x.Outputs), storeFile)
	if c.prints() {
		x.Outputs = append(x.Outputs, "stdout", "stderr")
	}
	for i, v := range c.stored {
		if v.From == "file" {
			x.Outputs = append(x.Outputs, fileName(i))
		}
	}
	return x
}

// capturing collects a task's captures from its commands.
type capturing struct {
	operators.Commands
	captures *captures
}

// Run implements operators.Commands.
func (c capturing) Run(ctx context.Context, x operators.Command) (operators.Exit, error) {
	exit, err := c.Commands.Run(ctx, c.captures.around(x))
	if err == nil {
		c.captures.left(exit)
	}
	return exit, err
}

func withFile(files map[string][]byte, name string, content []byte) map[string][]byte {
	out := map[string][]byte{name: content}
	maps.Copy(out, files)
	return out
}

func fileName(place int) string { return fmt.Sprintf("file.%d", place) }

// text returns the shell script. If the output is not examined, the command replaces the shell. Otherwise both streams
// are passed on and copied; only the end of the copies is kept. A request to end is sent only to the command: the shell
// waits for it.
func (c *captures) text() string {
	text := "d=$1; shift\nZERODAG_STORE=$PWD/$d/" + storeFile + "; DIGDAG_STORE=$ZERODAG_STORE; export ZERODAG_STORE DIGDAG_STORE\n"
	if len(c.stored) == 0 && c.output == nil {
		return text + `exec "$@"` + "\n"
	}
	if c.prints() {
		text += `trap : TERM INT
copy() { trap "" TERM INT; exec tee "$1"; }
exec 4>&1
{ { trap : TERM INT; "$@" 2>&3 3>&- 4>&-; echo $? >"$d/code"; } | copy "$d/all.1" >&4; } 3>&1 >&4 | copy "$d/all.2" >&2
{ read -r code <"$d/code"; } 2>/dev/null || code=1
` + fmt.Sprintf("tail -c %[1]d \"$d/all.1\" >\"$d/stdout\"; tail -c %[1]d \"$d/all.2\" >\"$d/stderr\"\nrm -f \"$d/all.1\" \"$d/all.2\" \"$d/code\"\n", maxCaptured)
	} else {
		text += "trap : TERM INT\n\"$@\"\ncode=$?\n"
	}
	for i, s := range c.stored {
		if s.From == "file" {
			quoted := "'" + strings.ReplaceAll(s.Path, "'", `'\''`) + "'"
			text += fmt.Sprintf("[ -f %[1]s ] && head -c %[2]d <%[1]s >\"$d/%[3]s\"\n", quoted, maxCaptured+1, fileName(i))
		}
	}
	return text + "exit \"$code\"\n"
}

// left records how the command ended.
func (c *captures) left(e operators.Exit) { c.ran, c.code, c.outputs = true, e.Code, e.Outputs }

// line returns the first line of output that `_ignore_error` matches; "" for none.
func (c *captures) line() string {
	if c == nil || c.output == nil {
		return ""
	}
	for _, stream := range []string{"stdout", "stderr"} {
		for line := range strings.Lines(strings.ToValidUTF8(string(c.outputs[stream]), "\uFFFD")) {
			if line = strings.TrimRight(line, "\r\n"); c.output.In(line) {
				return line
			}
		}
	}
	return ""
}

// store adds the values to a result: those from $ZERODAG_STORE, then those from `_store`.
func (c *captures) store(r *operators.Result) error {
	if c == nil {
		return nil
	}
	if len(c.stored) > 0 && !c.ran {
		return param.Errorf("_store reads values from a command, but this operator runs none")
	}
	values, err := storedPairs(c.outputs[storeFile])
	if err != nil {
		return err
	}
	for i, s := range c.stored {
		name := s.From
		if name == "file" {
			name = fileName(i)
		}
		text, there := c.outputs[name]
		v, err := storedValue(s, text, there)
		if err != nil {
			return err
		}
		if v != nil {
			values.Set(s.Name, v)
		}
	}
	if n := len(param.Text(values)); values.Len() > 0 && n > maxStored {
		return operators.Failf("the command stores %d bytes, but at most %d are allowed: write them to a file, or store them where later tasks can read them", n, maxStored)
	}
	if values.Len() > 0 {
		r.Store = param.Merge(r.Store, values)
	}
	return nil
}
