package dig

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNameLength limits the length of a project, workflow or task name, in UTF-16 units.
const maxNameLength = 255

// TaskNameFault returns what is wrong with one segment of a task's name, "" if nothing.
func TaskNameFault(name string) string {
	switch {
	case name == "":
		return "must not be blank"
	case name[0] != '+' && name[0] != '^':
		return "must start with '+' or '^'"
	}
	for i := 1; i < len(name); i++ {
		if !isTaskNameByte(name[i]) {
			r, _ := utf8.DecodeRuneInString(name[i:])
			return fmt.Sprintf("must not contain character '%c'", r)
		}
	}
	return lengthFault(name)
}

func isTaskNameByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	switch c {
	case '_', '-', '=', '[', ']', '{', '}', '%', '&', '@', '`', ',', '.', '^':
		return true
	}
	return false
}

// WorkflowNameFault returns what is wrong with the name of a workflow or a project, "" if nothing. Only the first
// character is checked for symbols: "sub/wf" is a valid name.
func WorkflowNameFault(name string) string {
	switch {
	case name == "":
		return "must not be blank"
	case '0' <= name[0] && name[0] <= '9':
		return "must not start with a numeric digit (0-9)"
	case strings.IndexByte("+^@/\\:*?\"<>|", name[0]) >= 0:
		return `must not include special symbols (+ ^ @ / \ / : * ? " < > |)`
	case strings.HasSuffix(name, ".dig"):
		return "must not end with .dig"
	}
	return lengthFault(name)
}

func lengthFault(name string) string {
	if len(name) > maxNameLength && len(utf16.Encode([]rune(name))) > maxNameLength {
		return fmt.Sprintf("must not be longer than %d characters", maxNameLength)
	}
	return ""
}
