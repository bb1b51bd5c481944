package script

import (
	"errors"
	"strings"

	"github.com/dop251/goja"
)

// scriptName is the file name of a template's script.
const scriptName = "template"

// nameCallee adds the called expression to the error about calling something that is not a function: "7 is not a
// function" does not show where to look.
func nameCallee(said, err error, source string) error {
	var thrown *goja.Exception
	if !strings.HasPrefix(said.Error(), "TypeError: ") || !strings.HasSuffix(said.Error(), " is not a function") || !errors.As(err, &thrown) {
		return said
	}
	stack := thrown.Stack()
	if len(stack) == 0 || stack[0].SrcName() != scriptName {
		return said
	}
	at := stack[0].Position()
	line := source
	for range at.Line - 1 {
		_, line, _ = strings.Cut(line, "\n")
	}
	line, _, _ = strings.Cut(line, "\n")
	if callee := calleeBefore(line, at.Column-1); callee != "" {
		return errors.New("TypeError: " + callee + " is not a function")
	}
	return said
}

// calleeBefore returns the expression in front of the parenthesis at an offset of a line: names, dots, and complete
// pairs of brackets. It returns "" if the expression has a different form.
func calleeBefore(line string, at int) string {
	if at < 0 || at >= len(line) || line[at] != '(' {
		return ""
	}
	end := len(strings.TrimRight(line[:at], " "))
	start, depth := end, 0
	for start > 0 {
		switch c := line[start-1]; {
		case c == ')' || c == ']':
			depth++
		case (c == '(' || c == '[') && depth > 0:
			depth--
		case depth > 0, c == '.', c == '_', c == '$', c >= 0x80,
			'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		default:
			return whole(line[start:end], depth)
		}
		start--
	}
	return whole(line[start:end], depth)
}

// maxCallee limits how much of an expression a message names, in bytes.
const maxCallee = 200

func whole(callee string, depth int) string {
	if depth > 0 || len(callee) > maxCallee {
		return ""
	}
	return callee
}
