package kinds

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// given returns a string from `with` as a shell word. Dagu replaces the references in it unless they are between single
// quotes.
func given(s *tasks.Step, key string) string {
	with := s.With()
	v, _ := with.Get(key)
	text, isText := v.(string)
	if !isText {
		s.Refuse(with, key, "write a string", "%s of a step of type %s is not a string", key, document.Text(s.Map, "type"))
	}
	if !s.Today && quotedVariable().MatchString(text) || strings.Contains(text, `\$`) {
		s.Refuse(with, key, "write the file with a command",
			"a variable in quotes or after a backslash is not translated in %s", key)
	}
	if !document.Reference().MatchString(text) {
		return references.Literal(references.ShellWord(text))
	}
	name := "WITH_" + strings.ToUpper(key)
	s.Extra.Set(name, s.Plain(with, key, text))
	return `"$` + name + `"`
}

// quotedVariable matches a variable between single quotes.
var quotedVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'[^'\n]*\$(\{[A-Za-z0-9_:=+?-]*\}|[A-Za-z_])[^'\n]*'`)
})

// file returns shell lines that set the variable `file` to an absolute path.
func file(s *tasks.Step) string {
	text := strings.TrimSpace(document.Text(s.With(), "path"))
	switch {
	case text == "" || strings.HasPrefix(text, "~") || strings.ContainsAny(text, "\"\\\n"):
		s.Refuse(s.With(), "path", "write the path without ~, quotes and backslashes",
			"the path of a file is not translated: %s", text)
	case !document.Reference().MatchString(text):
		s.With().Set("path", path.Clean(text))
	case strings.Contains("/"+text+"/", "/../") || strings.Contains("/"+text, "/./"):
		s.Refuse(s.With(), "path", "write the path without . and ..", "the path of a file is not translated: %s", text)
	}
	lines := "file=" + given(s, "path") + "\n"
	if !path.IsAbs(text) {
		lines += "case $file in /*) ;; *) file=$PWD/$file ;; esac\n"
	}
	return lines
}

// isOn reports whether a key in `with` is true; if the key is missing, it returns otherwise.
func isOn(s *tasks.Step, key string, otherwise bool) bool {
	v, there := s.With().Get(key)
	if !there {
		return otherwise
	}
	on, isBool := v.(bool)
	if !isBool {
		s.Refuse(s.With(), key, "write true or false", "%s is neither true nor false: %s", key, param.Text(v))
	}
	return on
}

// mode returns a line that sets the permissions of the file; "" if `with` has none.
func mode(s *tasks.Step) string {
	v, there := s.With().Get("mode")
	if !there {
		return ""
	}
	if text, isText := v.(string); isText && fileMode().MatchString(text) {
		return "chmod " + text + " \"$file\"\n"
	}
	s.Refuse(s.With(), "mode", "write it as \"0644\"", "the permissions of a file are not translated: %s", param.Text(v))
	return ""
}

var fileMode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0?[0-7]{3}$`) })

// fileTask returns the task for a file action, which prints its result as Dagu does.
func fileTask(s *tasks.Step, lines string) *param.Map {
	s.Outside(s.Map, "type", "a file action")
	return s.CommandTask(lines, tasks.Program{Shell: []param.Value{"/bin/sh", "-e"}, POSIX: true, Stops: true})
}

func writeFile(s *tasks.Step) *param.Map {
	s.Only(s.With(), "path", "content", "mode", "overwrite", "create_dirs", "atomic")
	lines := file(s)
	if isOn(s, "create_dirs", false) {
		lines += "(umask 027; mkdir -p \"$(dirname \"$file\")\")\n"
	}
	content := "printf '%s' " + given(s, "content")
	switch overwrite, atomic := isOn(s, "overwrite", false), isOn(s, "atomic", true); {
	case !overwrite: // -C: the file must not exist
		lines += "(umask 077; set -C; " + content + " > \"$file\")\n"
	case atomic:
		lines += "(umask 077; " + content + " > \"$file.$$$$.tmp\")\nmv -f \"$file.$$$$.tmp\" \"$file\"\n"
	default:
		lines += "(umask 077; " + content + " > \"$file\")\n"
	}
	if document.Text(s.With(), "content") == "" {
		return fileTask(s, lines+mode(s)+"printf '{\"operation\":\"write\",\"path\":\"%s\",\"created\":true}\\n' \"$file\"\n")
	}
	return fileTask(s, lines+mode(s)+
		"printf '{\"operation\":\"write\",\"path\":\"%s\",\"bytes\":%d,\"created\":true}\\n' \"$file\" \"$(wc -c < \"$file\")\"\n")
}

func makeFolder(s *tasks.Step) *param.Map {
	s.Only(s.With(), "path")
	return fileTask(s, file(s)+"(umask 027; mkdir -p \"$file\")\n"+
		"printf '{\"operation\":\"mkdir\",\"path\":\"%s\",\"created\":true}\\n' \"$file\"\n")
}

func readFile(s *tasks.Step) *param.Map {
	s.Only(s.With(), "path", "format")
	if format := document.Text(s.With(), "format"); format != "" && format != "raw" {
		s.Refuse(s.With(), "format", "read the file with a command", "format %s of a file is not translated", format)
	}
	return fileTask(s, file(s)+"cat \"$file\"\n")
}
