package shell

import (
	"strings"
)

// LoopedOver returns the name of a parameter whose words a script loops over; "" for none.
func LoopedOver(script string) string {
	if m := forWords().FindStringSubmatch(script); m != nil {
		return m[1]
	}
	return ""
}

// OtherStore finds another tool's way of storing a value: with a variable, or with a keyword after two colons.
func OtherStore(script string) (variable, word string) {
	if m := ofActions().FindStringSubmatch(script); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// KeyLines returns the keys at the start of lines of a script that look like YAML.
func KeyLines(script string) (keys []string) {
	if !strings.Contains(script, "\n") || strings.Contains(bare(script), "<<") {
		return nil
	}
	for _, m := range keyLine().FindAllStringSubmatch(script, -1) {
		keys = append(keys, m[1])
	}
	return keys
}

// Assigned returns the variables that a script sets itself.
func Assigned(script string) (names []string) {
	for _, m := range assigns().FindAllStringSubmatch(script, -1) {
		names = append(names, m[1]+m[2]+m[3])
	}
	return names
}

// Interpreter returns the program that the first line of a script names after #!.
func Interpreter(script string) (program string, is bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(script), "\n")
	program, is = strings.CutPrefix(first, "#!")
	return strings.TrimSpace(program), is
}

// Written returns the files that a command writes by their plain names.
func Written(command string) (files []string) {
	for _, found := range written().FindAllStringSubmatch(command, -1) {
		files = append(files, found[1])
	}
	return files
}

// HasWord reports whether a command has a file's name as a separate word.
func HasWord(text, name string) bool {
	isPart := func(c byte) bool {
		return c == '_' || c == '-' || c == '.' || c == '/' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if (i == 0 || !isPart(text[i-1])) && (end == len(text) || !isPart(text[end])) {
			return true
		}
		from = end
	}
}
